/**
 * Three kinds of tests: `unit` (one file, or a scenario of several, without a process of its own), `contract` (ports against their
 * real stores), `journey` (the whole service).
 */

import { defineConfig } from 'vitest/config'

const project = (name: string, timeoutMs: number, folders: readonly string[] = [name]) => ({
  test: {
    name,
    include: folders.map((folder) => `test/${folder}/**/*.test.ts`),
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    pool: 'forks' as const,
  },
})

export default defineConfig({
  test: {
    projects: [project('unit', 60_000, ['unit', 'scenario']), project('contract', 60_000), project('journey', 300_000)],
    maxWorkers: 2,
  },
})
