import { readdirSync, readFileSync } from 'node:fs'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createLinter } from '../../../../src/governance/lint/linter.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

const SAMPLE = readFileSync(new URL('../../../../src/sample/payments.openapi.yaml', import.meta.url))

function open(options: { deadlineMs?: number } = {}) {
  const linter = createLinter({ clock: systemClock, log: { error: () => {} }, ...options })
  onTestFinished(() => linter.close())
  return linter
}

it('judges one document after the other, each for whom it was asked', async () => {
  const { judge } = open()
  const [sample, broken, again] = await Promise.all([judge(SAMPLE), judge(Buffer.from('{')), judge(SAMPLE)])

  expect(sample.score).toBeGreaterThan(90)
  expect(broken).toMatchObject({ score: 0, isServable: false })
  expect(again).toEqual(sample)
})

it('says what breaks towards an earlier version, and why one cannot be compared with', async () => {
  const { judge } = open()
  const next = SAMPLE.toString().replace('  /payments:', '  /pay-ins:')
  const { changes } = await judge(Buffer.from(next), SAMPLE)
  expect(changes.filter(({ level }) => level === 'breaking').map(({ id }) => id)).toContain('operation.removed')
  expect((await judge(SAMPLE, SAMPLE)).changes).toEqual([])
  expect((await judge(SAMPLE, Buffer.from('{'))).changes).toMatchObject([{ id: 'previous.invalid', level: 'warning' }])
})

it('lets its thread go when nobody has asked for a minute, and has another when somebody does', async () => {
  const names = (): readonly string[] =>
    readdirSync('/proc/self/task').map((task) => readFileSync(`/proc/self/task/${task}/comm`, 'utf8').trim())
  const threads = (): number => names().filter((name) => name === 'lint').length
  // The thread of an earlier test may still be ending.
  await vi.waitFor(() => expect(threads()).toBe(0))
  const clock = createFakeClock(0)
  const linter = createLinter({ clock, log: { error: () => {} } })
  onTestFinished(() => linter.close())
  expect((await linter.judge(SAMPLE)).isServable).toBe(true)
  clock.advanceSync(59_999)
  expect(threads()).toBe(1)
  clock.advanceSync(1)
  await vi.waitFor(() => expect(threads()).toBe(0))

  expect((await linter.judge(SAMPLE)).isServable).toBe(true)
})

it('gives up what takes too long, and goes on with the next', async () => {
  const slow = open({ deadlineMs: 0 })
  await expect(slow.judge(SAMPLE)).rejects.toMatchObject({ code: 'specification_invalid' })
  const { judge } = open()
  expect((await judge(SAMPLE)).isServable).toBe(true)
})

it('lets what stands stand where Spectral’s rules take too long, and says so', async () => {
  // Time for the thread to start and for the built-in rules, on a slow machine too.
  const { judge } = open({ deadlineMs: 6_500 })
  const sample = SAMPLE.toString()
  // Eighty thousand texts of one length, each compared with every other.
  const list = JSON.stringify(Array.from({ length: 80_000 }, (_, index) => String(index).padStart(20, 'v')))
  const document = Buffer.from(sample.replace(/^info:$/m, `info:\n  x-list: ${list}`))
  expect(document.length).toBeGreaterThan(SAMPLE.length)
  const functionOptions = { schema: { type: 'array', uniqueItems: true } }
  const rules = { unique: { given: '$.info.x-list', then: { function: 'schema', functionOptions } } }
  const { isServable, findings, coverage } = await judge(document, SAMPLE, { rules })

  expect(isServable).toBe(true)
  expect(findings[0]).toMatchObject({ rule: 'rules-unfinished', severity: 'error' })
  expect(coverage).toMatchObject({ operations: 0, failed: [{ rule: 'rules-unfinished' }] })
  expect((await judge(SAMPLE)).coverage).toMatchObject({ operations: 15, failed: [] })
})

it('lets no tenant wait for all that another has sent, nor take every place', async () => {
  const { judge } = open()
  const order: string[] = []
  const ask = (tenant: string) =>
    judge(Buffer.from('{'), null, undefined, tenant).then(
      () => void order.push(tenant),
      () => void order.push(`${tenant} refused`),
    )
  await Promise.all([...Array.from({ length: 20 }, () => ask('acme')), ask('rival'), ask('third')])

  expect(order.filter((name) => name === 'acme refused')).toHaveLength(3)
  const judged = order.filter((name) => !name.endsWith('refused'))
  expect(judged).toHaveLength(19)
  expect(judged.indexOf('rival')).toBeLessThan(3)
  expect(judged.indexOf('third')).toBeLessThan(5)
})

it('refuses more than wait, and all when it is closed', async () => {
  const linter = open()
  const asked = Array.from({ length: 40 }, () =>
    linter.judge(Buffer.from('{')).then(
      () => 'judged',
      (cause: { code: string }) => cause.code,
    ),
  )
  const answers = await Promise.all(asked)
  expect(answers.filter((answer) => answer === 'judged')).toHaveLength(33)
  expect(answers.filter((answer) => answer === 'unavailable')).toHaveLength(7)
  const late = linter.judge(SAMPLE).catch((cause: { code: string }) => cause.code)
  await linter.close()

  expect(await late).toBe('unavailable')
  await expect(linter.judge(SAMPLE)).rejects.toMatchObject({ code: 'unavailable' })
})
