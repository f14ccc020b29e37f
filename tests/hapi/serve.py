#!/usr/bin/env python3
"""Build, start and stop the HAPI FHIR JPA server that the tests and the benchmark compare with.

    serve.py build                      make the server's jars, unless nothing changed since
    serve.py start [--data FOLDER]      start it, wait until it answers, print its base URL
    serve.py url                        print the base URL of the running one
    serve.py stop                       end it

The data live in memory, or in FOLDER, where they outlive the server. Needs a JDK 17 and Maven.
Only the standard library is used, so that no environment has to be set up first.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE / "target"
MAIN_CLASS = "org.wardround.hapi.HapiServer"


class Trouble(Exception):
    """Something the person who runs this has to know, in one line."""


def checksum() -> str:
    """A checksum of everything that the jars are made of."""
    total = hashlib.sha256()
    for path in [HERE / "pom.xml", *sorted((HERE / "src").rglob("*.*"))]:
        total.update(str(path.relative_to(HERE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Trouble(f"{name} is not installed; the HAPI server needs a JDK 17 and Maven")
    return found


def build() -> None:
    """Run Maven when a source has changed. The stamp is written last: a broken build is not taken for one."""
    stamp = TARGET / "built"
    wanted = checksum()
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    print("building the HAPI server (the first time fetches some 300 MB)", file=sys.stderr)
    stamp.unlink(missing_ok=True)
    log = HERE / "target" / "build.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [
        tool("mvn"),
        "--batch-mode",
        "--no-transfer-progress",
        "--file",
        str(HERE / "pom.xml"),
        "package",
    ]
    with log.open("w") as output:
        code = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
    if code != 0:
        raise Trouble(f"Maven failed ({code}):\n{tail(log, 25)}")
    stamp.write_text(wanted)


def tail(path: Path, lines: int) -> str:
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except OSError as error:
        return f"(no {path.name}: {error.strerror})"


def running(folder: Path) -> int | None:
    """The process id of the server that was started with this folder, if it is that and still runs."""
    try:
        pid = int((folder / "pid").read_text())
    except (OSError, ValueError):
        return None
    shown = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return pid if MAIN_CLASS in shown.stdout and str(folder) in shown.stdout else None


def start(folder: Path, *, port: int, data: Path | None, bulk: bool, heap: str, patience: float) -> str:
    """Start the server and give its base URL once it answers."""
    if running(folder) is not None:
        return base_url(folder)
    build()
    folder.mkdir(parents=True, exist_ok=True)
    ready, log = folder / "ready", folder / "server.log"
    ready.unlink(missing_ok=True)
    database = "jdbc:h2:mem:hapi;DB_CLOSE_DELAY=-1"
    if data is not None:
        data.mkdir(parents=True, exist_ok=True)
        # The cache is in KB of heap; with no retention, space is used again while loading.
        settings = "CACHE_SIZE=262144;RETENTION_TIME=0;DB_CLOSE_ON_EXIT=FALSE"
        database = f"jdbc:h2:file:{data.resolve() / 'hapi'};{settings}"
    classpath = os.pathsep.join([str(TARGET / "wardround-test-hapi.jar"), str(TARGET / "lib" / "*")])
    command = [
        tool("java"),
        f"-Xmx{heap}",
        "-XX:+UseParallelGC",
        "-Duser.timezone=UTC",
        "-Dfile.encoding=UTF-8",
        f"-Dwardround.database={database}",
        f"-Dwardround.bulk={str(bulk).lower()}",
        "-cp",
        classpath,
        MAIN_CLASS,
        str(port),
        str(ready),
    ]
    with log.open("w") as output:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    (folder / "pid").write_text(str(server.pid))
    try:
        wait_until_it_answers(server, folder, patience)
    except BaseException:
        server.kill()
        server.wait()
        (folder / "pid").unlink(missing_ok=True)
        raise
    return base_url(folder)


def wait_until_it_answers(server: subprocess.Popen[bytes], folder: Path, patience: float) -> None:
    log = folder / "server.log"
    deadline = time.monotonic() + patience
    while not (folder / "ready").is_file():
        if server.poll() is not None:
            raise Trouble(f"the server ended ({server.returncode}):\n{tail(log, 25)}")
        if time.monotonic() > deadline:
            raise Trouble(f"no answer within {patience:.0f} s:\n{tail(log, 25)}")
        time.sleep(0.2)
    url = base_url(folder) + "/metadata"
    with contextlib.closing(urllib.request.urlopen(url, timeout=60)) as answer:
        statement = json.load(answer)
    if statement.get("fhirVersion") != "4.0.1":
        raise Trouble(f"{url} does not describe a FHIR R4 server")


def base_url(folder: Path) -> str:
    try:
        return (folder / "ready").read_text().strip()
    except OSError:
        raise Trouble("no HAPI server is running here; start one with serve.py start") from None


def stop(folder: Path, patience: float = 30.0) -> bool:
    """End the server that was started with this folder; gives whether there was one."""
    pid = running(folder)
    if pid is not None:
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + patience
        while running(folder) is not None:
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                break
            time.sleep(0.2)
    for name in ("pid", "ready"):
        (folder / name).unlink(missing_ok=True)
    return pid is not None


def main() -> int:
    parser = argparse.ArgumentParser(description="The HAPI FHIR JPA server of the tests.")
    parser.add_argument("command", choices=["build", "start", "url", "stop"])
    parser.add_argument("--run", type=Path, default=TARGET / "run", help="folder for pid, log and address")
    parser.add_argument("--port", type=int, default=0, help="default: any free one")
    parser.add_argument("--data", type=Path, help="folder of the database; default: in memory")
    parser.add_argument(
        "--bulk", action="store_true", help="for the benchmark: loads faster, has no :missing"
    )
    parser.add_argument("--heap", default="1500m", help="the largest Java heap (default %(default)s)")
    parser.add_argument(
        "--wait", type=float, default=240.0, help="seconds to wait for it (default %(default)s)"
    )
    asked = parser.parse_args()
    folder = asked.run.resolve()
    try:
        if asked.command == "build":
            build()
        elif asked.command == "stop":
            print("stopped" if stop(folder) else "none was running", file=sys.stderr)
        elif asked.command == "url":
            if running(folder) is None:
                raise Trouble("no HAPI server is running here; start one with serve.py start")
            print(base_url(folder))
        else:
            url = start(
                folder,
                port=asked.port,
                data=asked.data,
                bulk=asked.bulk,
                heap=asked.heap,
                patience=asked.wait,
            )
            print(url)
    except (Trouble, urllib.error.URLError) as error:
        print(f"serve.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
