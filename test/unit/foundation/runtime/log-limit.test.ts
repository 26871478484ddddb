import { execFileSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createLog } from '../../../../src/foundation/runtime/log.ts'
import { createLogLimit } from '../../../../src/foundation/runtime/log-limit.ts'

interface Line {
  readonly msg: string
  readonly repeated?: number
  readonly api?: string
}

function open() {
  let nowMs = 1_800_000_000_000
  const lines: Line[] = []
  const limit = createLogLimit({ nowMs: () => nowMs })
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Line) }
  const log = createLog('info', { destination, limit })
  const forward = (ms: number): void => {
    nowMs += ms
    limit.sweep()
  }
  return { log, lines, forward }
}

const failure = (code: string, message = 'refused'): Error => Object.assign(new Error(message), { code })

describe('the log', () => {
  it('writes a repeated error once in ten seconds, with the number of repetitions', () => {
    const { log, lines, forward } = open()
    for (let second = 0; second < 30; second++) {
      for (let count = 0; count < 100; count++) log.error({ err: failure('ENOSPC', `at ${count}`) }, 'cannot write')
      forward(1_000)
    }
    expect(lines.map(({ repeated }) => repeated)).toEqual([undefined, 998, 999, 999])
    // Each line counts itself and its repetitions.
    expect(lines.reduce((sum, { repeated = 0 }) => sum + 1 + repeated, 0)).toBe(3_000)
  })

  it('writes the suppressed line when the error has stopped, and then evicts it', () => {
    const { log, lines, forward } = open()
    for (let count = 0; count < 5; count++) log.warn({ err: failure('EIO') }, 'cannot write')
    forward(9_999)
    expect(lines).toHaveLength(1)
    forward(1)
    expect(lines.map(({ repeated }) => repeated)).toEqual([undefined, 3])
    forward(60_000)
    expect(lines).toHaveLength(2)
    log.warn({ err: failure('EIO') }, 'cannot write')
    expect(lines).toHaveLength(3)
  })

  it('treats reports of one fault as equal, regardless of call, attempt or request', () => {
    const { log, lines } = open()
    for (let attempt = 0; attempt < 9; attempt++)
      log.error({ err: failure('EIO', `write ${attempt}`), requestId: String(attempt), attempt }, 'call failed')
    expect(lines).toHaveLength(1)
  })

  it('distinguishes errors, causes, subjects and levels', () => {
    const { log, lines } = open()
    log.error({ err: failure('EIO') }, 'cannot write')
    log.error({ err: failure('ENOSPC') }, 'cannot write')
    log.error({ err: new Error('refused', { cause: failure('EIO') }) }, 'cannot write')
    log.error({ api: 'a-v1' }, 'cannot write')
    log.error({ api: 'b-v1' }, 'cannot write')
    log.warn({ api: 'b-v1' }, 'cannot write')
    log.error({ api: 'b-v1' }, 'cannot read')
    expect(lines).toHaveLength(7)
  })

  it('limits neither informational nor fatal lines', () => {
    const { log, lines } = open()
    for (let count = 0; count < 3; count++) {
      log.info({ count: 1 }, 'up')
      log.fatal({ count: 1 }, 'down')
    }
    expect(lines).toHaveLength(6)
  })

  it('does not fail its caller if it cannot be written', () => {
    const full = openSync('/dev/full', 'w')
    const module = join(import.meta.dirname, '../../../../src/foundation/runtime/log.ts')
    const program = `import { createLog } from ${JSON.stringify(module)}
      const log = createLog('info')
      for (let count = 0; count < 10; count++) log.info({ count }, 'up')
      setImmediate(() => process.stdout.write('alive'))`
    const stdio = ['ignore', 'pipe', full] as const
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { stdio: [...stdio] })
    closeSync(full)
    expect(output.toString()).toBe('alive')
  })

  it('limits lines even if all of them differ', () => {
    const { log, lines } = open()
    for (let count = 0; count < 5_000; count++) log.error({ api: `a-${count}` }, 'cannot write')
    expect(lines).toHaveLength(1_001)
  })
})
