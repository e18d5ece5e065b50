"""The official SDK's own client of the Model Context Protocol."""

from contextlib import asynccontextmanager

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


@asynccontextmanager
async def mcp_client(url, token="", mode="auto"):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


async def mcp_call(client, tool, **arguments):
    """A tool's text and data; raises where it answers with an error."""
    result = await client.call_tool(tool, arguments)
    (text,) = (part.text for part in result.content)
    if result.is_error:
        raise RuntimeError(text)
    return text, result.structured_content
