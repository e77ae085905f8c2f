"""npm packages: in the `node_modules` that npm, pnpm, yarn or bun installed."""
