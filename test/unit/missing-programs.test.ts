import { describe, expect, it } from 'vitest'
import { describeMissing } from '../missing-programs.ts'
import type { Program } from '../programs.ts'

const REDIS: Program = { name: 'redis-server', package: 'redis-server' }
const POSTGRES: Program = { name: 'postgres', package: 'postgresql' }
const ROOT: Program = { name: 'root', package: null }

/** A module with one skipped test for each list of tags. */
const moduleOf = (...tests: readonly (readonly string[])[]) => ({
  children: { allTests: () => tests.map((tags) => ({ tags })) },
})

describe('the report of missing programs', () => {
  it('names each program with its number of tests, and one command for all packages', () => {
    const modules = [moduleOf(['redis-server'], ['postgres', 'redis-server'], []), moduleOf(['redis-server'])]
    expect(describeMissing(modules, [REDIS, POSTGRES])).toEqual([
      'without redis-server: 3 tests skipped',
      'without postgres: 1 test skipped',
      'apt-get install -y --no-install-recommends postgresql redis-server',
    ])
  })

  it('names no program that no test of the run needs', () => {
    expect(describeMissing([moduleOf(['redis-server'])], [REDIS, POSTGRES])).toEqual([
      'without redis-server: 1 test skipped',
      'apt-get install -y --no-install-recommends redis-server',
    ])
  })

  it('offers no package for root', () => {
    expect(describeMissing([moduleOf(['root'])], [ROOT])).toEqual(['without root: 1 test skipped'])
  })

  it('is empty if nothing is missing, whatever else was skipped', () => {
    expect(describeMissing([moduleOf(['redis-server'], [])], [])).toEqual([])
  })
})
