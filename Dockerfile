# docker build -t palestra .                              everything, on a CPU
# docker build -t palestra-cuda --build-arg BASE=nvidia/cuda:12.8.1-devel-ubuntu24.04 --build-arg EXTRA=,cuda .
# docker run --rm -it palestra play games/ConnectFour-v0 --agents mcts,minimax:depth=4
ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS development
ENV DEBIAN_FRONTEND=noninteractive PIP_NO_CACHE_DIR=1 SDL_VIDEODRIVER=dummy
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends chromium git make python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src

FROM development AS build
COPY . .
RUN python3 -m venv /build && /build/bin/pip install --quiet "uv>=0.9" \
    && /build/bin/uv build --all-packages --wheel --out-dir /wheels

FROM ${BASE}
ARG EXTRA=
# environments whose rules the image holds compiled; all if empty
ARG COMPILE="games/ConnectFour-v0 games/TicTacToe-v0"
ENV PALESTRA_CACHE=/opt/palestra/cache SDL_VIDEODRIVER=dummy
RUN command -v python3 && python3 -m venv --help > /dev/null \
    || (apt-get update -qq && apt-get install -y -qq python3 python3-venv && rm -rf /var/lib/apt/lists/*)
COPY --from=build /wheels /wheels
RUN python3 -m venv /opt/palestra/venv \
    && /opt/palestra/venv/bin/pip install --quiet --find-links /wheels "palestra[all${EXTRA}]" \
        "palestra-server[postgresql]" \
    && rm -rf /wheels \
    && /opt/palestra/venv/bin/palestra compile ${COMPILE} \
    && useradd --create-home --home-dir /games player && chown -R player /opt/palestra/cache
USER player
WORKDIR /games
ENTRYPOINT ["/opt/palestra/venv/bin/palestra"]
CMD ["list"]
