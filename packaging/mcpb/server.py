"""The entry point that the bundle format asks for; the configuration starts `wardround-mcp` itself."""

from wardround_server.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
