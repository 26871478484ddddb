import { readdirSync, readFileSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createLinter } from '../../../../../src/documents/governance/lint/linter.ts'
import { systemClock, type Clock } from '../../../../../src/foundation/runtime/clock.ts'
import { createFakeClock } from '../../../../fixtures/fake-clock.ts'

const SAMPLE = readFileSync(new URL('../../../../../src/app/sample/payments.openapi.yaml', import.meta.url))

function open(options: { clock?: Clock; deadlineMs?: number } = {}) {
  const linter = createLinter({ clock: systemClock, log: { error: () => {} }, ...options })
  onTestFinished(() => linter.close())
  return linter
}

it('answers concurrent requests each with the report of its own document', async () => {
  const { lint } = open()
  const [sample, broken, again] = await Promise.all([lint(SAMPLE), lint(Buffer.from('{')), lint(SAMPLE)])

  expect(sample.score).toBeGreaterThan(90)
  expect(broken).toMatchObject({ score: 0, isServable: false })
  expect(again).toEqual(sample)
})

it('reports breaking changes since the previous version, and a previous version that cannot be read', async () => {
  const { lint } = open()
  const next = SAMPLE.toString().replace('  /payments:', '  /pay-ins:')
  const { changes } = await lint(Buffer.from(next), SAMPLE)
  expect(changes.filter(({ level }) => level === 'breaking').map(({ id }) => id)).toContain('operation.removed')
  expect((await lint(SAMPLE, SAMPLE)).changes).toEqual([])
  expect((await lint(SAMPLE, Buffer.from('{'))).changes).toMatchObject([{ id: 'previous.invalid', level: 'warning' }])
})

it('terminates its thread after a minute without requests, and starts another for the next request', async () => {
  const names = (): readonly string[] =>
    readdirSync('/proc/self/task').map((task) => readFileSync(`/proc/self/task/${task}/comm`, 'utf8').trim())
  const threads = (): number => names().filter((name) => name === 'document').length
  // The thread of an earlier test may still be ending.
  await vi.waitFor(() => expect(threads()).toBe(0))
  const clock = createFakeClock(0)
  const linter = createLinter({ clock, log: { error: () => {} } })
  onTestFinished(() => linter.close())
  expect((await linter.lint(SAMPLE)).isServable).toBe(true)
  clock.advanceSync(59_999)
  expect(threads()).toBe(1)
  clock.advanceSync(1)
  await vi.waitFor(() => expect(threads()).toBe(0))

  expect((await linter.lint(SAMPLE)).isServable).toBe(true)
})

it('aborts a document at its deadline, and lints the next one', async () => {
  const slow = open({ deadlineMs: 0 })
  await expect(slow.lint(SAMPLE)).rejects.toMatchObject({ code: 'specification_invalid' })
  const { lint } = open()
  expect((await lint(SAMPLE)).isServable).toBe(true)
})

it('reports the results of its own rules and an error if the Spectral rules take too long', async () => {
  // The deadline passes once the thread has sent what the built-in rules found, on a machine of any speed.
  const clock = createFakeClock(0)
  const onPartial = (message: object): void => void ('partial' in message && clock.advanceSync(12_000))
  process.once('worker', (worker: Worker) => void worker.on('message', onPartial))
  const { lint } = open({ clock, deadlineMs: 12_000 })
  const sample = SAMPLE.toString()
  // 80,000 texts of one length, each compared with every other.
  const list = JSON.stringify(Array.from({ length: 80_000 }, (_, index) => String(index).padStart(20, 'v')))
  const document = Buffer.from(sample.replace(/^info:$/m, `info:\n  x-list: ${list}`))
  expect(document.length).toBeGreaterThan(SAMPLE.length)
  const functionOptions = { schema: { type: 'array', uniqueItems: true } }
  const rules = { unique: { given: '$.info.x-list', then: { function: 'schema', functionOptions } } }
  const { isServable, score, findings, coverage, recommendations } = await lint(document, SAMPLE, { rules })

  expect([isServable, score]).toEqual([true, 0])
  expect(recommendations[0]).toMatchObject({ rule: 'rules-unfinished', gain: expect.any(Number) as number })
  expect(findings[0]).toMatchObject({ rule: 'rules-unfinished', severity: 'error' })
  expect(coverage).toMatchObject({ operations: 0, failed: [{ rule: 'rules-unfinished' }] })
  expect((await lint(SAMPLE)).coverage).toMatchObject({ operations: 15, failed: [] })
})

it('refuses documents once it is closed', async () => {
  const linter = open()
  const late = linter.lint(SAMPLE).catch((cause: { code: string }) => cause.code)
  await linter.close()

  expect(await late).toBe('unavailable')
  await expect(linter.lint(SAMPLE)).rejects.toMatchObject({ code: 'unavailable' })
})
