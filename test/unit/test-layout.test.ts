/**
 * Unit tests mirror the sources: `test/unit/<folder>/<name>.test.ts` tests `src/<folder>/<name>.ts`.
 *
 * A file with several test files adds a suffix (`limiter-threads.test.ts` tests `limiter.ts`). Tests that measure time or memory are in
 * `<name>.machine.test.ts`. A scenario that spans folders is
 * in `test/scenario/`. The power-cut simulation is test code with tests of its own.
 */

import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { REAL_DOCUMENTS } from '../fixtures/real-documents.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Tests of the repository as a whole, and of code that is only for tests. */
const WITHOUT_SOURCE = [
  'architecture',
  ...['compose', 'dockerfile', 'kubernetes', 'monitoring'].map((file) => `deployment/${file}`),
  'docs',
  'language',
  'test-layout',
  'gateway/validation/suite/schema-suite',
]

/** They pass the current time to what they test, order calls by it, or print figures. */
const MEASURE_NOTHING = [
  ...['hostile', 'nodes-commands', 'nodes-limits', 'nodes-quotas'].map((file) => `journey/${file}.test.ts`),
  ...['backend-slots', 'upstream-gate', 'upstream-gates'].map((file) => `unit/gateway/backend/${file}.test.ts`),
  'unit/gateway/tracing/tracer.test.ts',
  'unit/test-layout.test.ts',
]

function hasSource(test: string): boolean {
  const words = test.split('-')
  return words.some((_, index) => {
    const path = `${words.slice(0, index + 1).join('-')}.ts`
    return existsSync(join(ROOT, 'src', path)) || existsSync(join(ROOT, 'test', path))
  })
}

const tests = globSync('**/*.test.ts', { cwd: import.meta.dirname }).map((file) =>
  file.replace(/(\.machine)?\.test\.ts$/, ''),
)

it('has a source file of the same name for each unit test', () => {
  expect(tests.filter((test) => !WITHOUT_SOURCE.includes(test) && !hasSource(test)).sort()).toEqual([])
})

it('lists no exception that has gone', () => {
  expect(WITHOUT_SOURCE.filter((test) => !tests.includes(test))).toEqual([])
})

it('measures time and memory only in the tests that run alone', () => {
  const MEASURES =
    /performance\.now\(|hrtime|cpuUsage\(|resourceUsage\(|memoryUsage\(|getHeap\w*Statistics\(|\/smaps|\/statm\b|\/proc\/[^/]+\/stat\b/
  const files = globSync('**/*.test.ts', { cwd: join(ROOT, 'test') })
  const found = files.filter((file) => MEASURES.test(readFileSync(join(ROOT, 'test', file), 'utf8')))
  expect(found.filter((file) => file.endsWith('.machine.test.ts')).length).toBeGreaterThan(2)
  expect(found.filter((file) => !file.endsWith('.machine.test.ts')).sort()).toEqual(MEASURE_NOTHING)
})

it('has no journey that fails if the service removes a folder while the journey lists it', () => {
  const journeys = globSync('journey/**/*.ts', { cwd: join(ROOT, 'test') })
  const isUnsafe = (file: string) => /readdirSync\([^\n]*recursive/.test(readFileSync(join(ROOT, 'test', file), 'utf8'))
  expect(journeys.length).toBeGreaterThan(0)
  expect(journeys.filter(isUnsafe)).toEqual([])
})

it('has no fixture above 20 MB, be it a folder or a package of documents', () => {
  const packages = REAL_DOCUMENTS.flatMap(({ path }) => (path === null ? [] : [/^(@[^/]+\/)?[^/]+/.exec(path)![0]]))
  const folders = ['test/fixtures', ...new Set(packages.map((name) => `node_modules/${name}`))]
  const bytesOf = (folder: string): number =>
    globSync('**', { cwd: join(ROOT, folder) })
      .map((file) => statSync(join(ROOT, folder, file)))
      .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0)
  const sizes = folders.map((folder) => ({ folder, bytes: bytesOf(folder) }))
  // An empty folder would be the wrong one.
  expect(sizes.filter(({ bytes }) => bytes < 10_000 || bytes > 20_000_000)).toEqual([])
  expect(folders).toHaveLength(5)
})
