/** Expands the file arguments of `tollgate lint`: names, glob patterns, and `-`. */

import { existsSync, globSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { isGitName } from './git-file.ts'
import { InputFault } from './input-fault.ts'
import { STANDARD_INPUT } from './read-input.ts'

const FILES_MAX = 1_000
const MAGIC = /[*?[{]/
const EXCLUDED: ReadonlySet<string> = new Set(['node_modules', '.git'])

/**
 * Returns each input once, in the order of the arguments; the files of a pattern are sorted. A pattern skips folders, and does not
 * search `node_modules` and `.git`. An existing file is never read as a pattern.
 */
export function findInputs(names: readonly string[]): readonly (string | InputFault)[] {
  const found = new Map<string, string>()
  const faults: InputFault[] = []
  for (const name of names) {
    const files = expand(name)
    if (files.length === 0) faults.push(new InputFault(name, `No file matches ${name}.`))
    for (const file of files) if (!found.has(normalize(file))) found.set(normalize(file), file)
  }
  if (found.size > FILES_MAX) {
    return [new InputFault(names[0] ?? '', `The arguments name ${found.size} files; the limit is ${FILES_MAX}.`)]
  }
  return [...found.values(), ...faults]
}

function expand(name: string): readonly string[] {
  const isLiteral = name === STANDARD_INPUT || isGitName(name) || !MAGIC.test(name) || existsSync(name)
  if (isLiteral) return [name]
  return globSync(name, { withFileTypes: true, exclude: (entry) => EXCLUDED.has(entry.name) })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
}
