/** Three kinds of tests: `unit` (one file, no process), `contract` (ports against their real stores), `journey` (the whole service). */

import { defineConfig } from 'vitest/config'

const project = (name: string, timeoutMs: number) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    pool: 'forks' as const,
  },
})

export default defineConfig({
  test: {
    projects: [project('unit', 60_000), project('contract', 60_000), project('journey', 300_000)],
    maxWorkers: 2,
  },
})
