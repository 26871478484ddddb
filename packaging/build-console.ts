/**
 * Builds the console to `build/console/`: `npm ci` runs it, and so does `npm run console` after a change.
 *
 * Each file is also stored compressed, so that the service sends it as it is. Without the tools of development there is nothing to
 * build with; a package has the files already.
 */

import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const ROOT = join(import.meta.dirname, '..')
const BUILT = join(ROOT, 'build/console')
const COMPRESSED = 'assets/*.{js,css}'
const INITIAL_BYTES_MAX = 150_000

const vite = await import('vite').catch(() => null)
if (vite === null) console.error('The console is not built, because Vite is not installed (npm ci without --omit=dev).')
else await build(vite)

async function build(vite: typeof import('vite')): Promise<void> {
  await vite.build({
    configFile: false,
    root: join(ROOT, 'src/console'),
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
  let bytes = 0
  for (const file of globSync(COMPRESSED, { cwd: BUILT })) {
    const path = join(BUILT, file)
    const text = readFileSync(path)
    const small = brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })
    writeFileSync(`${path}.br`, small)
    writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }))
    bytes += small.length
  }
  if (bytes > INITIAL_BYTES_MAX)
    throw new Error(`The console has ${bytes} bytes, compressed; the maximum is ${INITIAL_BYTES_MAX}.`)
  console.error(`build/console: ${bytes} bytes, compressed`)
}
