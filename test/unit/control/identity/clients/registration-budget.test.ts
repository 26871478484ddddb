import { describe, expect, it } from 'vitest'
import { createLocalAttempts } from '../../../../../src/storage/store/attempts.ts'
import {
  createRegistrationBudget,
  PER_NETWORK_MAX,
  PER_TENANT_MAX,
} from '../../../../../src/control/identity/clients/registration-budget.ts'

const HOUR_MS = 3_600_000

function open() {
  const clock = { timeMs: 500_000 * HOUR_MS }
  const { take } = createRegistrationBudget({
    attempts: createLocalAttempts({ nowMs: () => clock.timeMs }),
    keyedHash: (text) => text,
  })
  const exhaust = async (tenant: string, addressOf: (count: number) => string): Promise<number> => {
    for (let count = 0; ; count++) if ((await take(tenant, addressOf(count))) > 0) return count
  }
  return { clock, take, exhaust }
}

describe('the registrations of an hour', () => {
  it.each([
    ['an IPv4 address', () => '192.0.2.1'],
    ['an IPv6 network', (count: number) => `2001:db8:0:1::${count.toString(16)}`],
    ['an unknown address', () => ''],
  ])('are bounded for %s, in all tenants together', async (_, addressOf) => {
    const { take, exhaust } = open()
    expect(await exhaust('acme', addressOf)).toBe(PER_NETWORK_MAX)
    expect(await take('rival', addressOf(0))).toBeGreaterThan(0)
    expect(await take('acme', '198.51.100.1')).toBe(0)
  })

  it('are bounded for a tenant, and leave other tenants alone', async () => {
    const { take, exhaust } = open()
    expect(await exhaust('acme', (count) => `192.0.2.${count}`)).toBe(PER_TENANT_MAX)
    expect(await take('rival', '192.0.2.1')).toBe(0)
  })

  it('begin anew after the time that the answer names', async () => {
    const { clock, take, exhaust } = open()
    await exhaust('acme', () => '192.0.2.1')
    clock.timeMs += HOUR_MS / 4
    const seconds = await take('acme', '192.0.2.1')
    expect(seconds).toBe(2_700)
    clock.timeMs += seconds * 1_000 - 1
    expect(await take('acme', '192.0.2.1')).toBe(1)
    clock.timeMs += 1
    expect(await take('acme', '192.0.2.1')).toBe(0)
  })
})
