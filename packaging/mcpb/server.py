"""Entry point that the bundle format asks for; the bundle's configuration starts `wardround-mcp` by itself."""

from wardround_server.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
