import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { missingPrograms, pathOf, PROGRAMS, toTags } from '../programs.ts'

/** Programs that no folder beside the PATH has. */
const BROWSER = 'chromium'
const SHELL = 'fish'
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'programs-'))
  vi.stubEnv('PATH', `${folder}/none:${folder}`)
  vi.stubEnv('WITHOUT_PROGRAMS', undefined)
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

function install(name: string, mode = 0o755): string {
  const path = join(folder, name)
  writeFileSync(path, '')
  chmodSync(path, mode)
  return path
}

const namesOfMissing = (): readonly string[] => missingPrograms().map(({ name }) => name)

describe('a program', () => {
  it('is found on the PATH, by its best name', () => {
    const second = install('chromium')
    expect(pathOf(BROWSER)).toBe(second)
    const first = install('chromium-headless-shell')
    expect(pathOf(BROWSER)).toBe(first)
    expect(namesOfMissing()).not.toContain(BROWSER)
  })

  it('is missing without a file that can be executed, and then has no path', () => {
    install(SHELL, 0o644)
    mkdirSync(join(folder, 'chromium'))
    expect(namesOfMissing()).toEqual(expect.arrayContaining([SHELL, BROWSER]))
    for (const name of [SHELL, BROWSER]) expect(() => pathOf(name)).toThrow(`${name} is not installed`)
  })

  it('is missing if WITHOUT_PROGRAMS names it', () => {
    install(SHELL)
    expect(namesOfMissing()).not.toContain(SHELL)
    vi.stubEnv('WITHOUT_PROGRAMS', `postgres,${SHELL}`)
    expect(namesOfMissing()).toEqual(expect.arrayContaining([SHELL, 'postgres']))
  })
})

describe('a right', () => {
  it('is missing without root', () => {
    const getuid = vi.spyOn(process, 'getuid').mockReturnValue(1_000)
    try {
      expect(namesOfMissing()).toEqual(expect.arrayContaining(['root', 'mount']))
    } finally {
      getuid.mockRestore()
    }
  })
})

it('each program has a tag, which skips the tests if the program is missing', () => {
  const missing = PROGRAMS.filter(({ name }) => name === SHELL)
  const tags = toTags(missing)
  expect(tags.map(({ name }) => name)).toEqual(PROGRAMS.map(({ name }) => name))
  // Tags that say nothing of `skip` leave it to the others of the test.
  expect(tags.flatMap((tag) => ('skip' in tag ? [{ name: tag.name, skip: tag.skip }] : []))).toEqual([
    { name: SHELL, skip: true },
  ])
})
