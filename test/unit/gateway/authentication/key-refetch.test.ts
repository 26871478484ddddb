import { describe, expect, it } from 'vitest'
import { createKeyRefetch } from '../../../../src/gateway/authentication/key-refetch.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

function open() {
  const clock = createFakeClock(1_800_000_000_000)
  const asked: string[] = []
  const refetch = createKeyRefetch({
    clock,
    async refetch(provider) {
      asked.push(provider)
      return false
    },
  })
  return { clock, asked, refetch }
}

describe('The keys of a provider', () => {
  it('are asked for once a second while there are no new ones', async () => {
    const { clock, asked, refetch } = open()
    for (const afterMs of [0, 999, 1]) {
      clock.advanceSync(afterMs)
      expect(await refetch('idp_1')).toBe(false)
    }
    expect(asked).toEqual(['idp_1', 'idp_1'])
  })

  it('are asked for again after the clock was set back', async () => {
    const { clock, asked, refetch } = open()
    await refetch('idp_1')
    clock.setBack(3_600_000)
    await refetch('idp_1')
    expect(asked).toHaveLength(2)
  })
})
