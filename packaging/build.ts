/**
 * Bundles `src/` as JavaScript into `dist/`: for the package (`npm pack` runs it), because Node does not strip types below
 * `node_modules`, and for the tests that start many processes. A start from a few files takes less CPU than one from a thousand (ADR 67).
 *
 * A module that a process or a thread starts with keeps its path (`dist/interfaces/cli/main.js`); all others are in `dist/chunks/`.
 * Paths that a module makes of `import.meta` are those of the source. Packages stay outside: npm installs, audits and replaces them.
 */

import { createHash } from 'node:crypto'
import { cpSync, existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { rolldown, VERSION, type Plugin } from 'rolldown'

const ROOT = join(import.meta.dirname, '..')
const SOURCE = join(ROOT, 'src')
const BUILT = join(ROOT, 'dist')
/** Vite builds it. */
const CONSOLE = 'interfaces/console/**'
const ENTRIES = ['main', 'interfaces/cli/main']
/** A module that is started as a thread or as a process, or imported, is named by a literal. */
const MODULE_PATH = /(?<before>(?:from|import)[\s(]*)?['"](?<path>\.{1,2}\/[^'"\n]*)\.ts['"]/g
const EXTENSION = /(?<=['"]\.{1,2}\/[^'"\n]*)\.ts(?=['"])/g
/** Stands for the path from the folder of a chunk to `dist/`. */
const TO_ROOT = '@dist@'

/** Does nothing if `dist/` is that of these sources: tests may run from it. */
export async function build(): Promise<void> {
  const files = globSync('**/*', { cwd: SOURCE, exclude: [CONSOLE], withFileTypes: true })
  const sources = files
    .filter((file) => file.isFile())
    .map((file) => relative(SOURCE, join(file.parentPath, file.name)))
  const digest = digestOf(sources.sort())
  const stamp = join(BUILT, 'sources.sha256')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return
  const folder = join(ROOT, `dist-new-${process.pid}`)
  const former = join(ROOT, `dist-former-${process.pid}`)
  for (const path of sources.filter((each) => !each.endsWith('.ts'))) cpSync(join(SOURCE, path), join(folder, path))
  const bundle = await rolldown({
    input: Object.fromEntries(ENTRIES.map((name) => [name, join(SOURCE, `${name}.ts`)])),
    external: (id) => !/^[./]/.test(id),
    platform: 'node',
    preserveEntrySignatures: false,
    plugins: [keepPaths],
  })
  const { output } = await bundle.write({
    dir: folder,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
  })
  writeFileSync(join(folder, 'sources.sha256'), digest)
  if (existsSync(BUILT)) renameSync(BUILT, former)
  renameSync(folder, BUILT)
  rmSync(former, { recursive: true, force: true })
  console.error(`dist: ${output.length} files`)
}

const keepPaths: Plugin = {
  name: 'keep-paths',
  transform: {
    filter: { id: `${SOURCE}/**` },
    handler(code, id) {
      for (const { groups } of code.matchAll(MODULE_PATH)) {
        if (groups!['before'] !== undefined) continue
        const path = resolve(dirname(id), groups!['path']!)
        this.emitFile({ type: 'chunk', id: `${path}.ts`, fileName: `${relative(SOURCE, path)}.js` })
      }
      const path = relative(SOURCE, id)
      const folder = JSON.stringify(`/${TO_ROOT}/${dirname(path)}`)
      const url = JSON.stringify(`./${TO_ROOT}/${path.replace(/\.ts$/, '.js')}`)
      return code
        .replaceAll('import.meta.dirname', `(import.meta.dirname + ${folder})`)
        .replaceAll('import.meta.url', `new URL(${url}, import.meta.url).href`)
    },
  },
  renderChunk(code, { fileName }) {
    const toRoot = relative(dirname(fileName), '.') || '.'
    return code.replaceAll(TO_ROOT, toRoot).replace(EXTENSION, '.js')
  },
}

/** Of everything that decides what is written. */
function digestOf(sources: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of [VERSION, readFileSync(import.meta.filename)]) hash.update(text)
  for (const path of sources) hash.update(`\0${path}\0`).update(readFileSync(join(SOURCE, path)))
  return hash.digest('hex')
}

if (import.meta.main) await build()
