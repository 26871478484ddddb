/**
 * The direction of dependencies, as a table: what each folder of `src` may import.
 *
 * A folder without a row of its own belongs to the nearest folder above it that has one. A file outside every row fails, and so
 * does a cycle of files, type imports included. Folders that do not list each other meet in `app/`.
 */

import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { GROUPS, TABLE } from './dependencies.ts'

/** Composition: may import every folder, and no other folder may import it. */
const COMPOSITION = 'app'
/** The only files at the top of `src`. They may import everything, and may not be imported. */
const ENTRY_POINTS = ['main.ts', 'thread.ts']
const LINES_MAX = 400
/** All texts of the console. */
const CATALOGUE = 'interfaces/console/texts.ts'
const LINES_MEDIAN_MAX = 150

const src = join(import.meta.dirname, '../../src')
const files = globSync('**/*.{ts,tsx}', { cwd: src }).sort()
const known = new Set(files)
const textOf = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]))

/** Static, re-exported, dynamic and type imports: paths of ours relative to `src`, packages by name. */
function importsOf(file: string): string[] {
  const text = textOf.get(file) ?? ''
  const names = [
    ...text.matchAll(/^(?:import|export)\s(?:[^'";]*?\bfrom )?'([^']+)'/gm),
    ...text.matchAll(/\bimport\(\s*'([^']+)'/g),
  ].map(([, name]) => name ?? '')
  return names.map((name) => (name.startsWith('.') ? relative(src, join(src, dirname(file), name)) : name))
}

/** The row of a path: that of the nearest folder that has one. */
function rowOf(path: string): string | undefined {
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
    if (folder in TABLE || folder === COMPOSITION) return folder
  }
  return undefined
}

const isOurs = (name: string): boolean => known.has(name) || name.startsWith('../') || rowOf(name) !== undefined

function isAllowed(file: string, name: string): boolean {
  const home = rowOf(file)
  if (ENTRY_POINTS.includes(file) || home === COMPOSITION) return true
  if (home === undefined) return false
  // XState is for state machines, one to a file.
  if (name === 'xstate' && file.endsWith('-machine.ts')) return true
  const { folders, packages } = TABLE[home] ?? { folders: [], packages: [] }
  if (!isOurs(name)) return packages.some((allowed) => isOfPackage(name, allowed))
  const other = rowOf(name)
  return other !== undefined && (other === home || folders.includes(other))
}

function isOfPackage(name: string, allowed: string): boolean {
  if (allowed === 'node:') return name.startsWith('node:') && name !== 'node:sqlite'
  return name === allowed || name.startsWith(`${allowed}/`)
}

function findCycles(): string[] {
  const cycles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file)
    if (start >= 0) return void cycles.push([...path.slice(start), file].join(' → '))
    if (done.has(file)) return
    for (const next of importsOf(file).filter((name) => known.has(name))) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
  return cycles
}

const lines = files.map((file) => ({ file, count: (textOf.get(file) ?? '').trimEnd().split('\n').length }))
const median = lines.map(({ count }) => count).sort((a, b) => a - b)[Math.floor(lines.length / 2)] ?? 0

describe('architecture', () => {
  it('has a row for the folder of every file', () => {
    const outside = files.filter((file) => !ENTRY_POINTS.includes(file) && rowOf(file) === undefined)
    expect(outside).toEqual([])
  })

  it('lets each folder import only what its row lists', () => {
    const breaches = files.flatMap((file) =>
      importsOf(file)
        .filter((name) => !isAllowed(file, name))
        .map((name) => `${file} imports ${name}`),
    )
    expect(breaches).toEqual([])
  })

  it('lets each group import only those before it', () => {
    const orderOf = (path: string): number => GROUPS.findIndex((group) => path.startsWith(`${group}/`))
    const inGroups = files.filter((file) => !ENTRY_POINTS.includes(file))
    expect(inGroups.filter((file) => orderOf(file) < 0)).toEqual([])
    const breaches = inGroups.flatMap((file) =>
      importsOf(file)
        .filter((name) => known.has(name) && orderOf(name) > orderOf(file))
        .map((name) => `${file} imports ${name}`),
    )
    expect(breaches).toEqual([])
  })

  it('has no cycle of folders', () => {
    const reaches = (folder: string, seen: readonly string[]): boolean =>
      seen.includes(folder) || (TABLE[folder]?.folders ?? []).some((below) => reaches(below, [...seen, folder]))
    expect(Object.keys(TABLE).filter((folder) => reaches(folder, []))).toEqual([])
  })

  it('has no cycle of files', () => {
    expect(findCycles()).toEqual([])
  })

  it('names each file after one idea', () => {
    expect(files.filter((file) => /(^|\/)(index|types|utils?|helpers?)\.ts$/.test(file))).toEqual([])
  })

  it('has the constants of time in one place', () => {
    const isPlace = (file: string): boolean =>
      file === 'foundation/domain/calendar.ts' || file.startsWith('app/sample/')
    const copies = files.filter((file) =>
      /^(?:export )?const (?:MINUTE|HOUR|DAY|WEEK)(?:_MS|_S|_SECONDS)? = \d/m.test(textOf.get(file) ?? ''),
    )
    expect(copies.filter((file) => !isPlace(file))).toEqual([])
    expect(copies.filter(isPlace)).not.toEqual([])
  })

  it(`keeps files small: none over ${LINES_MAX} lines, the median is ${median}`, () => {
    expect(lines.filter(({ file, count }) => count > LINES_MAX && file !== CATALOGUE)).toEqual([])
    expect(median).toBeLessThanOrEqual(LINES_MEDIAN_MAX)
  })
})
