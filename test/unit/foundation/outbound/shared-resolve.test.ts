import type { LookupAddress } from 'node:dns'
import { describe, expect, it } from 'vitest'
import { createSharedResolve } from '../../../../src/foundation/outbound/shared-resolve.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

const at = (address: string): readonly LookupAddress[] => [{ address, family: 4 }]
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function open() {
  const clock = createFakeClock(0)
  /** Look-ups that run: host name and how it ends. */
  const running = new Map<string, PromiseWithResolvers<readonly LookupAddress[]>>()
  const asked: string[] = []
  const resolve = createSharedResolve(
    (hostname) => {
      const lookup = Promise.withResolvers<readonly LookupAddress[]>()
      running.set(hostname, lookup)
      asked.push(hostname)
      return lookup.promise
    },
    clock,
    clock.monotonicMs,
  )
  return {
    clock,
    asked,
    resolve,
    /** The first address, or the code of the error. */
    outcome: (hostname: string): Promise<string | undefined> =>
      resolve(hostname).then(
        ([first]) => first?.address,
        (cause: NodeJS.ErrnoException) => cause.code,
      ),
    async answer(hostname: string, address: string) {
      running.get(hostname)!.resolve(at(address))
      await settled()
    },
    async fail(hostname: string, code: string) {
      running.get(hostname)!.reject(Object.assign(new Error(code), { code }))
      await settled()
    },
  }
}

const NAMES = Array.from({ length: 20 }, (_, index) => `silent-${index}.test`)

describe('look-ups of one name', () => {
  it('are one for all who ask meanwhile, and a new one for those who ask later', async () => {
    const { asked, outcome, answer } = open()
    const all = Array.from({ length: 50 }, () => outcome('a.test'))
    await answer('a.test', '192.0.2.1')
    expect(new Set(await Promise.all(all))).toEqual(new Set(['192.0.2.1']))
    const later = outcome('a.test')
    await answer('a.test', '192.0.2.2')
    expect([await later, asked]).toEqual(['192.0.2.2', ['a.test', 'a.test']])
  })

  it('that fail at once fail for all, and the addresses before are forgotten', async () => {
    const { clock, outcome, answer, fail } = open()
    const first = outcome('a.test')
    await answer('a.test', '192.0.2.1')
    await first
    const gone = outcome('a.test')
    await fail('a.test', 'ENOTFOUND')
    expect(await gone).toBe('ENOTFOUND')
    const later = outcome('a.test')
    clock.advanceSync(1_000)
    await fail('a.test', 'EAI_AGAIN')
    expect(await later).toBe('EAI_AGAIN')
  })
})

describe('a name whose servers do not answer', () => {
  it('delays no name that has answered before, however many there are', async () => {
    const { asked, outcome, answer } = open()
    const first = outcome('good.test')
    await answer('good.test', '192.0.2.1')
    await first
    for (const name of NAMES) void outcome(name)
    const second = outcome('good.test')
    await answer('good.test', '192.0.2.2')
    expect([await second, asked.length]).toEqual(['192.0.2.2', 6])
  })

  it('has few look-ups together with others, and a new name is next', async () => {
    const { clock, asked, outcome, fail, answer } = open()
    const [silent] = NAMES
    void outcome(silent!)
    clock.advanceSync(10_000)
    await fail(silent!, 'EAI_AGAIN')
    clock.advanceSync(10_000)
    for (const name of NAMES.slice(1, 5)) void outcome(name)
    void outcome(silent!)
    const fresh = outcome('new.test')
    expect(asked).toHaveLength(5)
    await fail(NAMES[1]!, 'EAI_AGAIN')
    await answer('new.test', '192.0.2.1')
    expect([await fresh, asked.slice(5)]).toEqual(['192.0.2.1', ['new.test', silent]])
  })

  it('gets the addresses that it had, at once when it is late again, until it answers', async () => {
    const { clock, asked, outcome, answer } = open()
    const first = outcome('a.test')
    await answer('a.test', '192.0.2.1')
    await first
    const late = outcome('a.test')
    clock.advanceSync(1_000)
    expect([await late, await outcome('a.test'), await outcome('a.test')]).toEqual(Array(3).fill('192.0.2.1'))
    expect(asked).toHaveLength(2)
    await answer('a.test', '192.0.2.2')
    // It was late, so that the next one does not wait for it.
    expect(await outcome('a.test')).toBe('192.0.2.2')
    await answer('a.test', '192.0.2.3')
    const prompt = outcome('a.test')
    await answer('a.test', '192.0.2.4')
    expect(await prompt).toBe('192.0.2.4')
  })

  it('loses the addresses that it had after an hour', async () => {
    const { clock, outcome, answer, fail } = open()
    const first = outcome('a.test')
    await answer('a.test', '192.0.2.1')
    await first
    clock.advanceSync(3_600_000)
    const late = outcome('a.test')
    clock.advanceSync(1_000)
    await fail('a.test', 'EAI_AGAIN')
    expect(await late).toBe('EAI_AGAIN')
  })

  it('loses the addresses that it had when it is denied at last', async () => {
    const { clock, outcome, answer, fail } = open()
    const first = outcome('a.test')
    await answer('a.test', '192.0.2.1')
    await first
    const late = outcome('a.test')
    clock.advanceSync(1_000)
    await fail('a.test', 'ENOTFOUND')
    expect([await late, await outcome('a.test')]).toEqual(['192.0.2.1', 'EAI_AGAIN'])
  })

  it('is refused for as long as its look-up took', async () => {
    const { clock, asked, outcome, fail, answer } = open()
    const first = outcome('a.test')
    clock.advanceSync(10_000)
    await fail('a.test', 'EAI_AGAIN')
    expect(await first).toBe('EAI_AGAIN')
    clock.advanceSync(9_999)
    expect([await outcome('a.test'), asked.length]).toEqual(['EAI_AGAIN', 1])
    clock.advanceSync(1)
    const again = outcome('a.test')
    await answer('a.test', '192.0.2.1')
    expect(await again).toBe('192.0.2.1')
  })

  it('is refused no longer if the clock of the system was set back meanwhile', async () => {
    const { clock, asked, outcome, fail } = open()
    const first = outcome('a.test')
    clock.advanceSync(10_000)
    await fail('a.test', 'EAI_AGAIN')
    await first
    clock.setBack(3_600_000)
    clock.advanceSync(10_000)
    void outcome('a.test')
    expect(asked).toHaveLength(2)
  })

  it('lets a bounded number of others wait', async () => {
    const { asked, resolve, outcome } = open()
    for (let index = 0; index < 4 + 256; index++) void resolve(`silent-${index}.test`)
    expect([await outcome('one-more.test'), asked.length]).toEqual(['EAI_AGAIN', 4])
  })
})
