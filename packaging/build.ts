/**
 * Writes `src/` as JavaScript to `dist/` for the package (`npm pack` runs it), because Node does not strip types below
 * `node_modules`.
 *
 * Types become spaces, so that every line and column is that of the source. Paths of modules get the extension `.js`, also where a
 * module is started as a thread or a process.
 */

import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const SOURCE = join(ROOT, 'src')
const BUILT = join(ROOT, 'dist')
/** Vite builds it. */
const CONSOLE = join(SOURCE, 'console')
const MODULE_PATH = /(?<=['"]\.{1,2}\/[^'"\n]*)\.ts(?=['"])/g

rmSync(BUILT, { recursive: true, force: true })
cpSync(SOURCE, BUILT, { recursive: true, filter: (path) => path !== CONSOLE && !path.endsWith('.ts') })
const files = globSync('**/*.ts', { cwd: SOURCE, exclude: ['console/**'] })
for (const file of files) {
  const text = stripTypeScriptTypes(readFileSync(join(SOURCE, file), 'utf8'))
  const path = join(BUILT, file.replace(/\.ts$/, '.js'))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text.replace(MODULE_PATH, '.js'))
}
console.error(`dist: ${files.length} modules`)
