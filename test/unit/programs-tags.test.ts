/** A test that starts a program has the tag of the program, so that a machine without it skips the test. */

import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PROGRAMS } from '../programs.ts'

const ROOT = join(import.meta.dirname, '../..')
const TEXTS = new Map(
  globSync('test/**/*.ts', { cwd: ROOT }).map((file) => [file, readFileSync(join(ROOT, file), 'utf8')] as const),
)
const STATIC_IMPORT = /^(?:import|export) (?!type )(?:[^']*? from )?'(\.[^']+)'/gm

/** Names of the programs that a module starts: it asks for the path, or starts processes and has the name as a text. */
function startedBy(text: string): readonly string[] {
  const startsProcesses = /^import .* from 'node:child_process'$/m.test(text)
  return PROGRAMS.filter(
    ({ name, package: source }) =>
      source !== null && (text.includes(`pathOf('${name}')`) || (startsProcesses && text.includes(`'${name}'`))),
  ).map(({ name }) => name)
}

function hasTag(text: string, name: string): boolean {
  const fileTags = [...text.matchAll(/^\/\/ @module-tag (\S+)$/gm)].map(([, tag]) => tag)
  const testTags = [...text.matchAll(/\btags(?::| =) \[([^\]]*)\]/g)].flatMap(([, list = '']) => list.split(/, */))
  return fileTags.includes(name) || testTags.includes(`'${name}'`)
}

/** The module and all that it imports from `test`, except by a dynamic import. */
function withImports(file: string, found = new Set<string>()): ReadonlySet<string> {
  const text = TEXTS.get(file)
  if (text === undefined || found.has(file)) return found
  found.add(file)
  for (const [, path = ''] of text.matchAll(STATIC_IMPORT)) withImports(join(dirname(file), path), found)
  return found
}

function untagged(file: string): readonly string[] {
  const needed = [...withImports(file)].flatMap((module) => {
    const text = TEXTS.get(module) ?? ''
    // A module may give the tags itself, like the list of shells.
    return startedBy(text).filter((name) => module === file || !hasTag(text, name))
  })
  return [...new Set(needed)].filter((name) => !hasTag(TEXTS.get(file) ?? '', name)).map((name) => `${file}: ${name}`)
}

describe('a test file', () => {
  const tests = [...TEXTS.keys()].filter((file) => file.endsWith('.test.ts'))

  it('has the tag of each program that it starts, itself or through what it imports', () => {
    expect(tests.length).toBeGreaterThan(500)
    expect(tests.flatMap(untagged)).toEqual([])
  })

  it('has at its top level no call that needs a program, since tags skip tests and hooks only', () => {
    const isUnsafe = (file: string) => /^(?:const|let) .*await create\w+Server\(/m.test(TEXTS.get(file) ?? '')
    expect(tests.filter(isUnsafe)).toEqual([])
  })
})

describe('.ci/run', () => {
  it('installs the package of each program, except that of promtool, which brings a server', () => {
    const [, table = ''] = /^declare -A package_of=\(([^)]*)\)/m.exec(readFileSync(join(ROOT, '.ci/run'), 'utf8')) ?? []
    const listed = [...table.matchAll(/\[([^\]]+)\]=(\S+)/g)].map(([, name, source]) => `${name} ${source}`)
    const expected = PROGRAMS.flatMap(({ name, package: source, files = [name] }) =>
      source === null || name === 'promtool' || name === 'postgres'
        ? []
        : files.map((file) => `${file} ${file === name ? source : file}`),
    )
    expect(listed.toSorted()).toEqual(expected.toSorted())
  })
})
