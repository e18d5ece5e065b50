"""Servers on two nodes of a Ray cluster, one of which is killed in the middle of matches.

python ray_cluster.py PORT      prints one JSON object: what became of the matches
"""

import json
import os
import sys
import threading
import time

os.environ["RAY_SERVE_PROXY_PREFER_LOCAL_NODE_ROUTING"] = "0"  # the second node plays too

import httpx
import ray
from database import postgres, url_of
from palestra_server.client import Server
from palestra_server.ray_serve import run
from palestra_server.workers import Settings
from ray import serve
from ray.cluster_utils import Cluster

ROUNDS = 80
MATCHES = 6
MEMORY = 80 * 2**20


def moves(url):
    """How many answers each server has taken."""
    lines = httpx.get(f"{url}/metrics", timeout=30).text.splitlines()
    told = [line for line in lines if line.startswith("palestra_moves_total{")]
    return {line.split('"')[1]: int(line.split()[-1]) for line in told}


def play(seat, problems):
    try:
        while seat.turn(60).status != "over":
            time.sleep(0.08)
            seat.answer(seat.view.number % 2)
        if seat.view.number != ROUNDS:
            problems.append(f"{seat.view.number} answers")
    except Exception as error:
        problems.append(repr(error))


def seated(url, match, seat):
    client = Server(url)
    try:
        return client.join(match, seat, f"player {seat}")
    finally:
        client.close()


def opened(url):
    client = Server(url)
    try:
        options = {"rounds": ROUNDS}
        return client.create("games/MatrixGame-v0", ["open", "open"], options=options, seed=4)
    finally:
        client.close()


def exact(url, token):
    """Whether every answer was played once, in its order."""
    client = Server(url)
    try:
        record = client.record(token)
    finally:
        client.close()
    played = [[turn["action"] for turn in step["turns"]] for step in record["steps"]]
    return played == [[turn % 2] * 2 for turn in range(ROUNDS)] and record["mistakes"] == [0, 0]


def main(store, port):
    node = {"num_cpus": 1, "object_store_memory": MEMORY}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    second = cluster.add_node(**node)
    ray.init(address=cluster.address, log_to_driver=False)
    nodes = sum(node["Alive"] for node in ray.nodes())
    serve.start(http_options={"port": port, "location": "HeadOnly"})
    run(Settings(store=store), 2, cpus=0.8)
    url = f"http://127.0.0.1:{port}"
    while len(moves(url)) < 2:
        time.sleep(0.2)
    matches = [opened(url) for _ in range(MATCHES)]
    seats = [seated(url, match, seat) for match in matches for seat in (0, 1)]
    problems = []
    threads = [threading.Thread(target=play, args=(seat, problems)) for seat in seats]
    for thread in threads:
        thread.start()
    time.sleep(2)
    before = moves(url)
    cluster.remove_node(second, allow_graceful=False)
    for thread in threads:
        thread.join(150)
    told = {
        "nodes": nodes,
        "before": sorted(before.values()),
        "problems": problems,
        "exact": [exact(url, seat.token) for seat in seats[::2]],
    }
    print(json.dumps(told), flush=True)
    serve.shutdown()
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    with postgres() as database:
        main(url_of(database), int(sys.argv[1]))
