import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const MODULE = join(import.meta.dirname, '../../../../src/foundation/runtime/compile-cache.ts')
const THREAD = `
  const { getBuiltinModule } = process
  getBuiltinModule('worker_threads').parentPort.postMessage(getBuiltinModule('module').getCompileCacheDir())
`
const SCRIPT = `
  const THREAD = ${JSON.stringify(THREAD)}
  const { keepCompiledModules } = await import(${JSON.stringify(MODULE)})
  const { getCompileCacheDir, constants } = await import('node:module')
  const { Worker } = await import('node:worker_threads')
  keepCompiledModules()
  const thread = new Worker(THREAD, { eval: true })
  const ofThread = await new Promise((resolve, reject) => thread.once('message', resolve).once('error', reject))
  console.log(JSON.stringify([getCompileCacheDir(), ofThread]))
`

function run(environment: NodeJS.ProcessEnv): (string | null)[] {
  const { NODE_COMPILE_CACHE: _, ...rest } = process.env
  const options = { env: { ...rest, ...environment }, encoding: 'utf8', timeout: 30_000 } as const
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', SCRIPT], options))
}

it('keeps the compiled modules of a process and of its threads in the dependencies of the service', () => {
  const [own, ofThread] = run({})
  expect(own).toContain('node_modules/.cache/tollgate')
  expect(ofThread).toBe(own)
})

it('keeps compiled modules in the folder that the environment names', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tg-compiled-'))
  const [own, ofThread] = run({ NODE_COMPILE_CACHE: folder })
  expect([own, ofThread]).toEqual([expect.stringContaining(folder), own])
  expect(readdirSync(folder)).not.toEqual([])
})

it('runs without a cache if the folder cannot be written', () => {
  expect(run({ NODE_COMPILE_CACHE: '/dev/null/none' })).toEqual([null, null])
})
