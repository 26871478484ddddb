import { execFile } from 'node:child_process'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const MODULE = join(import.meta.dirname, '../../../../src/foundation/runtime/exit-at-once.ts')
const canExit = process.platform === 'linux' && isBuiltin('node:ffi')

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
}

/** Runs a process in which a library has an exit handler that aborts. */
async function run(script: string): Promise<Ended> {
  const program = `
    import { exitAtOnce } from ${JSON.stringify(MODULE)}
    process.emitWarning = () => {}
    const { dlopen, dlsym } = process.getBuiltinModule('node:ffi')
    const { lib, functions } = dlopen(null, { on_exit: { arguments: ['pointer', 'pointer'], return: 'int32' } })
    functions.on_exit(dlsym(lib, 'abort'), 0n)
    process.on('exit', (code) => console.log('listener', code))
    ${script}`
  const args = ['--input-type=module', '--eval', program]
  return promisify(execFile)(process.execPath, args).then(
    ({ stdout }) => ({ code: 0, signal: null, stdout }),
    ({ code, signal, stdout }: Ended) => ({ code, signal, stdout }),
  )
}

describe.runIf(canExit)('exitAtOnce (needs node:ffi)', () => {
  it('ends the process without the exit handlers of libraries, with its code and its listeners', async () => {
    expect(await run('exitAtOnce(); process.exit(3)')).toEqual({
      code: 3,
      signal: null,
      stdout: 'listener 3\n',
    })
    expect(await run('exitAtOnce()')).toEqual({ code: 0, signal: null, stdout: 'listener 0\n' })
  })

  it('leaves the end to Node if it cannot call the function', async () => {
    const ended = await run('exitAtOnce(() => undefined); process.exit(3)')
    expect(ended).toEqual({ code: null, signal: 'SIGABRT', stdout: 'listener 3\n' })
  })
})
