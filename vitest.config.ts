/**
 * Kinds of tests: `unit` and `unit-alone` (one file, or a scenario of several, without a process of its own), `contract` (ports against
 * their real stores, in the process), `contract-servers` (those of PostgreSQL and Redis), `server` (those of ClickHouse again, over
 * HTTP), `journey` (the whole service), `smoke` (one journey for each promise and each interface), and `machine` (time and memory of any
 * of them).
 *
 * `npm test` runs unit tests, contracts and smoke journeys; `npm run test:all` runs everything.
 */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { toTags } from './test/programs.ts'
import { FileReporter } from './test/runner/file-reporter.ts'
import { FILE_FORKS } from './test/runner/forks-pool.ts'
import { LongestFirst } from './test/runner/longest-first.ts'
import SummaryReporter from './test/summary-reporter.ts'

const WATCH_FILE = 'test/runner/watch-file.ts'

/** A test that measures time or memory; `test/unit/test-layout.test.ts` finds those in other files. */
const OF_MACHINE = '**/*.machine.test.ts'

const project = (name: string, timeoutMs: number, folders: readonly string[] = [name]) => ({
  test: {
    name,
    include: folders.map((folder) => `test/${folder}/**/*.test.ts`),
    exclude: [OF_MACHINE],
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    // One second, the default, is short on a busy machine.
    expect: { poll: { timeout: 15_000 } },
    pool: FILE_FORKS,
    setupFiles: ['test/fixtures/use-memory.ts', WATCH_FILE],
  },
})

/** Those that take the address of a server. */
const OVER_HTTP = [
  ...['usage', 'usage-tokens', 'requests', 'risk', 'names', 'service-level'].map((name) => `store/clickhouse-${name}`),
  ...['usage', 'service-level', 'long-ranges'].map((name) => `platform/${name}`),
]

const server = {
  test: {
    ...project('server', 180_000).test,
    include: OVER_HTTP.map((name) => `test/contract/${name}.test.ts`),
    // Its last hook runs behind that of the server.
    setupFiles: [WATCH_FILE, 'test/fixtures/use-clickhouse-server.ts'],
  },
}

/** The only one at work, after all others: another would take its time. */
const machine = {
  test: {
    ...project('machine', 300_000).test,
    include: [`test/${OF_MACHINE}`],
    exclude: [],
    maxWorkers: 1,
    sequence: { groupOrder: 1 },
  },
}

/** Those that look at the whole process: its threads, its files, its timers. */
const ALONE = [
  ...[
    'gateway/connection/backend-connections-tls',
    'gateway/connection/reader-watch',
    'documents/governance/lint/linter',
  ],
  ...['foundation/jobs/thread-pool', 'storage/spool/spool-writer-failing-disk'],
  ...[
    'foundation/runtime/release-heap',
    'foundation/runtime/release-pages',
    'storage/store/clickhouse/client',
    '../scenario/spool/release',
  ],
].map((name) => join('test/unit', `${name}.test.ts`))

/** Contracts that start PostgreSQL or Redis. */
const WITH_SERVERS = globSync('test/contract/**/*.test.ts').filter((file) =>
  /@module-tag (postgres|redis-server)$/m.test(readFileSync(file, 'utf8')),
)

const SMOKE = [
  // Promises: exact bills, exact limits, revocation, risks as they happen, activation without a failed call, and what a folder holds.
  ...['kill', 'limits', 'revocation', 'risk', 'revisions', 'backup-stopped', 'damaged-spool'],
  // Interfaces: a first start, the command line, the console, the portal, MCP, webhooks, and several nodes.
  ...['first-start', 'cli', 'console-overview', 'console-portal', 'mcp', 'webhooks', 'nodes-limits'],
].map((name) => `test/journey/${name}.test.ts`)

const journey = (name: string) => ({
  test: { ...project(name, 300_000, ['journey']).test, isolate: false, globalSetup: ['test/build-service.ts'] },
})

export default defineConfig({
  test: {
    projects: [
      { test: { ...journey('smoke').test, include: SMOKE } },
      { test: { ...journey('journey').test, exclude: [OF_MACHINE, ...SMOKE] } },
      { test: { ...project('contract-servers', 180_000).test, include: WITH_SERVERS } },
      { test: { ...project('contract', 180_000).test, exclude: [OF_MACHINE, ...WITH_SERVERS] } },
      server,
      // Files share a process, which loads the modules once; a file restores what it changes. Not so those of contracts: a process has
      // at most one embedded engine.
      {
        test: {
          ...project('unit', 60_000, ['unit', 'scenario']).test,
          exclude: [OF_MACHINE, ...ALONE],
          isolate: false,
        },
      },
      { test: { ...project('unit-alone', 60_000).test, include: ALONE } },
      machine,
    ],
    tags: toTags(),
    sequence: { sequencer: LongestFirst },
    reporters: [new FileReporter(), new SummaryReporter()],
    // What a test that passes prints, and how long it takes, are in the way of the others.
    silent: 'passed-only',
    slowTestThreshold: Infinity,
    // Of two cores, three workers leave a seventh idle: many journeys wait for a process that starts or ends.
    maxWorkers: 4,
    // The check may end after the tests.
    teardownTimeout: 300_000,
    globalSetup: [
      'test/remove-temporary-files.ts',
      'test/keep-compiled-modules.ts',
      'test/random-seed.ts',
      'test/runner/check-beside.ts',
    ],
  },
})
