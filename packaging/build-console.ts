/**
 * Builds the console to `build/console/`: `npm ci` runs it, and so does `npm run console`.
 *
 * Each file is also stored compressed, so that the service sends it as it is. `npx tollgate` in a clone runs the scripts of an
 * installation as well, so that nothing is built if nothing has changed. Without the tools of development there is nothing to build
 * with; a package has the files already.
 */

import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const ROOT = join(import.meta.dirname, '..')
const BUILT = join(ROOT, 'build/console')
const INPUTS = join(BUILT, 'inputs.txt')
const COMPRESSED = 'assets/*.{js,css}'
const INITIAL_BYTES_MAX = 150_000

const inputs = digestInputs()
if (!existsSync(INPUTS) || readFileSync(INPUTS, 'utf8') !== inputs) await buildIfPossible()

/** The sources, this script, and the versions of the packages. */
function digestInputs(): string {
  const files = globSync('src/interfaces/console/**/*.*', { cwd: ROOT }).sort()
  const digest = createHash('sha256')
  for (const file of [...files, 'packaging/build-console.ts', 'package-lock.json']) {
    digest.update(`${file}\n`).update(readFileSync(join(ROOT, file)))
  }
  return digest.digest('hex')
}

async function buildIfPossible(): Promise<void> {
  const vite = await import('vite').catch(() => null)
  if (vite === null)
    return console.error('The console is not built: Vite is not installed (npm ci without --omit=dev).')
  await vite.build({
    configFile: false,
    root: join(ROOT, 'src/interfaces/console'),
    base: '/console/',
    logLevel: 'warn',
    html: { cspNonce: '__NONCE__' },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir: BUILT,
      emptyOutDir: true,
      target: 'es2023',
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
  })
  const sizes = new Map(globSync(COMPRESSED, { cwd: BUILT }).map((file) => [file, compress(join(BUILT, file))]))
  const page = readFileSync(join(BUILT, 'index.html'), 'utf8')
  const initial = sumOf([...sizes].filter(([file]) => page.includes(file)))
  if (initial > INITIAL_BYTES_MAX)
    throw new Error(`The first load has ${initial} bytes, compressed; the maximum is ${INITIAL_BYTES_MAX}.`)
  writeFileSync(INPUTS, inputs)
  console.error(`build/console: first load ${initial} bytes, all ${sumOf([...sizes])} bytes, compressed`)
}

function sumOf(sizes: readonly (readonly [string, number])[]): number {
  return sizes.reduce((sum, [, bytes]) => sum + bytes, 0)
}

/** Returns the number of bytes of the smallest form. */
function compress(path: string): number {
  const text = readFileSync(path)
  const small = brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })
  writeFileSync(`${path}.br`, small)
  writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }))
  return small.length
}
