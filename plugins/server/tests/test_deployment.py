"""What deploy/ names is there: files, variables, addresses, and the options of `palestra serve`."""

import ipaddress
import re
import shlex

import msgspec
import pytest
import typer
from deployment import FOLDER, VARIABLE, compose, manifests
from palestra.cli import add_commands
from palestra.cli.app import BUILT_IN, app
from palestra.cli.arguments import read_options
from palestra.kernel.registry import registry
from palestra_server.app import create_app
from palestra_server.limits import Limits
from palestra_server.proxies import read_proxies
from palestra_server.server import MatchServer
from palestra_server.store import MatchStore


def options_of(command):
    """The options of `palestra NAME …`; ends the test for one that is not there."""
    name, *words = command
    add_commands(app, registry().plugins, BUILT_IN)
    found = typer.main.get_command(app).commands[name]
    return found.make_context(name, list(words)).params


def served():
    """The command of the server in compose.yaml."""
    return options_of(compose(PALESTRA_NAME="play.example.org")["services"]["server"]["command"])


def pod():
    (container,) = manifests()["Deployment"]["spec"]["template"]["spec"]["containers"]
    return container


def commands_of_pod():
    """The commands of the container, with its environment's variables replaced."""
    (line,) = pod()["args"]
    known = {one["name"]: one.get("value", "172.20.1.7") for one in pod()["env"]}
    line = re.sub(r"\$\((\w+)\)", lambda found: known[found[1]], line)
    words = [shlex.split(part.removeprefix(" exec ")) for part in line.split("&&")]
    assert {command[0] for command in words} == {"/opt/palestra/venv/bin/palestra"}
    return [options_of(command[1:]) for command in words]


def both_served():
    """The options of the server in each of the two files."""
    return served(), commands_of_pod()[1]


@pytest.fixture(scope="module")
def paths():
    store = MatchStore("sqlite://")
    yield {route.path for route in create_app(MatchServer(store)).routes}
    store.close()


def test_every_file_and_every_variable_is_there():
    services = compose()["services"]
    mounted = [one.split(":")[0] for each in services.values() for one in each.get("volumes", [])]
    files = [one for one in mounted if one.startswith(".")]
    assert [name for name in files if not (FOLDER / name).is_file()] == []
    assert set(mounted) - set(files) == compose()["volumes"].keys()
    build = services["server"]["build"]
    dockerfile = (FOLDER / build["context"] / "Dockerfile").read_text("utf-8")
    assert [name for name in build["args"] if f"ARG {name}=" not in dockerfile] == []
    example = (FOLDER / ".env.example").read_text("utf-8")
    asked = {
        found[1]
        for found in VARIABLE.finditer((FOLDER / "compose.yaml").read_text("utf-8"))
        if found[2] == "?"
    }
    assert asked <= set(re.findall(r"(?m)^(\w+)=", example))


def test_the_secrets_are_in_no_file_of_the_repository():
    root = FOLDER.parent
    assert "/deploy/.env" in (root / ".gitignore").read_text("utf-8").splitlines()
    assert "deploy/.env" in (root / ".dockerignore").read_text("utf-8").splitlines()
    example = (FOLDER / ".env.example").read_text("utf-8")
    assert re.findall(r"(?m)^(\w*(?:TOKEN|PASSWORD)\w*)=(.*)$", example) == [
        ("PALESTRA_SERVER_TOKEN", ""),
        ("POSTGRES_PASSWORD", ""),
    ]


def test_the_server_of_compose_is_reached_through_its_proxy_alone():
    services, options = compose()["services"], served()
    assert [name for name, one in services.items() if "ports" in one] == ["proxy"]
    assert services["server"]["networks"] == ["front", "back"]
    assert compose()["networks"]["back"] == {"internal": True}
    address = services["proxy"]["networks"]["front"]["ipv4_address"]
    assert options["proxy"] == [address]
    (network,) = compose()["networks"]["front"]["ipam"]["config"]
    assert ipaddress.ip_address(address) in ipaddress.ip_network(network["subnet"])
    caddyfile = (FOLDER / "Caddyfile").read_text("utf-8")
    assert f"{{$UPSTREAM:server:{options['port']}}}" in caddyfile
    assert set(re.findall(r"\{\$(\w+)\}", caddyfile)) <= services["proxy"]["environment"].keys()


def test_the_server_of_compose_answers_to_its_name_and_stops_in_time(paths):
    server, options = compose()["services"]["server"], served()
    assert (options["host"], *options["name"]) == ("0.0.0.0", "play.example.org")
    assert (options["workers"], options["log_json"]) == (2, True)
    limits = [msgspec.convert(read_options(one["limit"]), Limits) for one in both_served()]
    assert [one.per_address for one in limits] == [100, 100]
    assert f"http://127.0.0.1:{options['port']}/ready" in server["healthcheck"]["test"][-1]
    assert "/ready" in paths
    assert server["environment"]["PALESTRA_STORE"].startswith("postgresql+psycopg://palestra:")


def test_the_pods_find_each_other_and_are_asked_what_the_server_answers(paths):
    compiled, options = commands_of_pod()
    assert list(compiled["ids"]) == ["games/ConnectFour-v0", "games/TicTacToe-v0"]
    assert options["inside"] == "172.20.1.7"
    (proxies,) = options["proxy"]
    assert ipaddress.ip_address("172.20.1.7") in ipaddress.ip_network(proxies)
    assert read_proxies(options["proxy"])[-1] == proxies
    probes = [pod()[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")]
    assert [probe["path"] for probe in probes] == ["/health", "/health", "/ready"]
    assert {probe["path"] for probe in probes} <= paths
    assert {header["value"] for probe in probes for header in probe["httpHeaders"]} == {"localhost"}
    assert pod()["ports"] == [{"name": "http", "containerPort": options["port"]}]


def test_the_objects_of_kubernetes_name_each_other():
    found = manifests()
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    selectors = [
        found["Service"]["spec"]["selector"],
        *(
            found[kind]["spec"][name]["matchLabels"]
            for kind, name in (
                ("Deployment", "selector"),
                ("PodDisruptionBudget", "selector"),
                ("NetworkPolicy", "podSelector"),
            )
        ),
    ]
    assert selectors == [labels] * 4
    (rule,) = found["Ingress"]["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    service = path["backend"]["service"]
    assert service["name"] == found["Service"]["metadata"]["name"]
    assert service["port"]["name"] in [port["name"] for port in found["Service"]["spec"]["ports"]]
    assert list(commands_of_pod()[1]["name"]) == [rule["host"]]
    page = (FOLDER.parent / "docs" / "deploying.md").read_text("utf-8")
    for one in pod()["env"]:
        if secret := one.get("valueFrom", {}).get("secretKeyRef"):
            assert f"create secret generic {secret['name']}" in page
            assert f"--from-literal={secret['key']}=" in page
