/**
 * Kinds of tests: `unit` (one file, or a scenario of several, without a process of its own), `contract` (ports against their real
 * stores), `server` (those of ClickHouse again, over HTTP), `journey` (the whole service).
 */

import { defineConfig } from 'vitest/config'

const project = (name: string, timeoutMs: number, folders: readonly string[] = [name]) => ({
  test: {
    name,
    include: folders.map((folder) => `test/${folder}/**/*.test.ts`),
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    // One second, the default, is short on a busy machine.
    expect: { poll: { timeout: 15_000 } },
    pool: 'forks' as const,
  },
})

/** Those that take the address of a server. */
const OVER_HTTP = [
  ...['usage', 'usage-tokens', 'requests', 'risk', 'names', 'service-level'].map((name) => `store/clickhouse-${name}`),
  ...['usage', 'service-level', 'long-ranges'].map((name) => `platform/${name}`),
]

const server = {
  test: {
    ...project('server', 60_000).test,
    include: OVER_HTTP.map((name) => `test/contract/${name}.test.ts`),
    setupFiles: ['test/fixtures/use-clickhouse-server.ts'],
  },
}

export default defineConfig({
  test: {
    projects: [
      // Files share a process, which loads the modules once; a file restores what it changes.
      { test: { ...project('unit', 60_000, ['unit', 'scenario']).test, isolate: false } },
      project('contract', 60_000),
      server,
      project('journey', 300_000),
    ],
    maxWorkers: 2,
    globalSetup: ['test/remove-temporary-files.ts'],
  },
})
