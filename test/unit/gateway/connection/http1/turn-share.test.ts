import { describe, expect, it } from 'vitest'
import { TurnShare } from '../../../../../src/gateway/connection/http1/turn-share.ts'

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('TurnShare', () => {
  it('stops reading at the fourth read of a turn, and continues in the next one', async () => {
    const held: boolean[] = []
    const share = new TurnShare((isHeld) => held.push(isHeld))
    for (let turn = 0; turn < 3; turn++) {
      for (let read = 0; read < 3; read++) share.use()
      expect(held).toEqual([])
      share.use()
      expect(held).toEqual([true])
      await nextTurn()
      expect(held.splice(0)).toEqual([true, false])
    }
  })

  it('never stops a connection with fewer reads in each turn', async () => {
    const held: boolean[] = []
    const share = new TurnShare((isHeld) => held.push(isHeld))
    for (let turn = 0; turn < 5; turn++) {
      for (let read = 0; read < 3; read++) share.use()
      await nextTurn()
    }
    expect(held).toEqual([])
  })

  it('counts the reads of each connection by themselves', () => {
    const held: number[] = []
    const shares = [0, 1].map((index) => new TurnShare((isHeld) => isHeld && held.push(index)))
    for (let read = 0; read < 3; read++) for (const share of shares) share.use()
    expect(held).toEqual([])
    shares[1]!.use()
    expect(held).toEqual([1])
  })

  it('lets connections whose reads have many parts read one after the other, once per turn', async () => {
    const events: string[] = []
    const shares = ['a', 'b', 'c'].map(
      (name) => new TurnShare((isHeld) => events.push(`${name} ${isHeld ? 'stops' : 'reads'}`)),
    )
    for (const share of shares) {
      share.use(1_025)
      share.use(1_025)
    }
    expect(events.splice(0)).toEqual(['a stops', 'b stops', 'c stops'])
    await nextTurn()
    expect(events.splice(0)).toEqual(['a reads'])
    shares[0]!.use(1_025)
    await nextTurn()
    expect(events.splice(0)).toEqual(['a stops', 'b reads'])
    await nextTurn()
    await nextTurn()
    expect(events).toEqual(['c reads', 'a reads'])
  })

  it('stops no connection whose reads have fewer parts', () => {
    const held: boolean[] = []
    const share = new TurnShare((isHeld) => held.push(isHeld))
    share.use(1_024)
    expect(held).toEqual([])
  })
})
