"""Generates the Python code of every proto file, or checks that the committed code is fresh.

``proto/referee/v1/referee.proto`` becomes ``referee/v1/referee_pb2.py`` and its type stub, and for
a file with services also ``referee_pb2_grpc.py`` and its stub. The messages of the arena's API
also give the JSON Schema of the documents that commands print. The versions of the generators are
pinned in pyproject.toml, so equal proto files give equal code. A sample bot that reads the proto
file itself keeps a copy in its folder, which is held equal as well.
"""

import argparse
import json
import re
import shutil
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_tools import protoc

PROTO = Path(__file__).resolve().parent
ROOT = PROTO.parent
SCHEMA = Path("proto") / "arena" / "v1" / "documents.schema.json"

sys.path.insert(0, str(ROOT))
from arena.documents import schema  # noqa: E402 -- a script beside its data, not a package

INIT = '"""Generated from the proto files by proto/generate.py; not to be edited."""\n'


def main() -> int:
    """Returns 0, or with ``--check`` 1 when a generated file is missing, stale or left over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, fail when stale")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        wrong = differences(Path(folder))
        if not check:
            install(Path(folder))
            return 0
    for path in wrong:
        print(f"{path} is not what proto/ generates: run `make proto`", file=sys.stderr)
    return 1 if wrong else 0


def generate(target: Path) -> None:
    """Writes all generated files below ``target``, laid out as below the repository's root."""
    sources = sorted(PROTO.rglob("*.proto"))
    services = [path for path in sources if re.search(r"^service ", path.read_text(), re.MULTILINE)]
    plugin = Path(sys.executable).parent / "protoc-gen-mypy"
    common = [
        "protoc",
        f"--proto_path={PROTO}",
        f"--proto_path={files('grpc_tools') / '_proto'}",
        f"--plugin=protoc-gen-mypy={plugin}",
        f"--plugin=protoc-gen-mypy_grpc={plugin}_grpc",
    ]
    run([*common, f"--python_out={target}", f"--mypy_out=quiet:{target}", *map(str, sources)])
    run(
        [
            *common,
            f"--grpc_python_out={target}",
            f"--mypy_grpc_out=quiet:{target}",
            *map(str, services),
        ]
    )
    write_schema(target)
    for folder in {(target / path.relative_to(PROTO)).parent for path in sources}:
        (folder / "__init__.py").write_text(INIT)
    for copy in ROOT.glob("sample_bots/*/referee.proto"):
        (target / copy.relative_to(ROOT)).parent.mkdir(parents=True)
        shutil.copyfile(PROTO / "referee" / "v1" / "referee.proto", target / copy.relative_to(ROOT))


def write_schema(target: Path) -> None:
    """Writes the JSON Schema of the documents that commands print."""
    sources = sorted((PROTO / "arena" / "v1").glob("*.proto"))
    bundle = target / "descriptors"
    includes = [f"--proto_path={PROTO}", f"--proto_path={files('grpc_tools') / '_proto'}"]
    options = ["--include_imports", f"--descriptor_set_out={bundle}"]
    run(["protoc", *includes, *options, *map(str, sources)])
    pool = DescriptorPool()
    for each in FileDescriptorSet.FromString(bundle.read_bytes()).file:
        pool.Add(each)
    bundle.unlink()
    messages = [
        message
        for path in sources
        for message in pool.FindFileByName(
            str(path.relative_to(PROTO))
        ).message_types_by_name.values()
    ]
    path = target / SCHEMA
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(schema(messages), indent=2) + "\n")


def run(arguments: list[str]) -> None:
    """Runs the compiler in this process; exits with its status when it fails."""
    status = protoc.main(arguments)
    if status:
        sys.exit(status)


def differences(fresh: Path) -> list[Path]:
    """Names what differs between the files below ``fresh`` and the repository, either way."""
    wanted = {path.relative_to(fresh) for path in fresh.rglob("*") if path.is_file()}
    packages = {path.parent for path in wanted if path.suffix == ".py"}
    found = {
        path.relative_to(ROOT) for folder in packages for path in (ROOT / folder).glob("*.py*")
    }
    return sorted(path for path in wanted | found if content(fresh / path) != content(ROOT / path))


def content(path: Path) -> bytes | None:
    """The bytes of a file, None when there is none."""
    return path.read_bytes() if path.is_file() else None


def install(fresh: Path) -> None:
    """Copies the files below ``fresh`` into the repository and removes what is left over there."""
    for path in differences(fresh):
        target = ROOT / path
        if (fresh / path).exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((fresh / path).read_bytes())
        else:
            target.unlink()


if __name__ == "__main__":
    sys.exit(main())
