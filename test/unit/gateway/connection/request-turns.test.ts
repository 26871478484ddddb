import { expect, it } from 'vitest'
import { RequestTurns } from '../../../../src/gateway/connection/request-turns.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function open(name: string, begun: string[]) {
  const holds: boolean[] = []
  const turns = new RequestTurns<number>(
    (request) => void begun.push(`${name}${request}`),
    (isHeld) => holds.push(isHeld),
  )
  const add = (count: number, from = 1): void => {
    for (let request = from; request < from + count; request++) turns.add(request)
  }
  return { turns, holds, add }
}

async function untilQuiet(begun: readonly string[]): Promise<number[]> {
  const perTurn: number[] = []
  for (let before = begun.length; ; before = begun.length) {
    await turn()
    if (begun.length === before) return perTurn
    perTurn.push(begun.length - before)
  }
}

it('A few requests of a connection begin as they arrive', () => {
  const begun: string[] = []
  const { add, holds } = open('a', begun)
  add(8)
  expect([begun.length, holds]).toEqual([8, []])
})

it('More of them begin in their order, a few in each turn, while nothing more is read', async () => {
  const begun: string[] = []
  const { add, holds } = open('a', begun)
  add(1_000)
  expect([begun.length, holds]).toEqual([8, [true]])
  const perTurn = await untilQuiet(begun)
  expect(Math.max(...perTurn)).toBe(16)
  expect(begun).toEqual(Array.from({ length: 1_000 }, (_, index) => `a${index + 1}`))
  expect(holds).toEqual([true, false])
})

it('A connection with few requests does not wait for those of others, which share each turn', async () => {
  const begun: string[] = []
  const many = Array.from({ length: 20 }, (_, index) => open(`${index}:`, begun))
  for (const { add } of many) add(100)
  await turn()
  await turn()
  open('few', begun).add(2)
  expect(begun.slice(-2)).toEqual(['few1', 'few2'])
  const before = begun.length
  const perTurn = await untilQuiet(begun)
  expect(Math.max(...perTurn)).toBe(16)
  const counts = new Map<string, number>()
  for (const each of begun.slice(before, before + 200)) {
    const name = each.split(':')[0]!
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  expect([...counts.values()]).toEqual(Array<number>(20).fill(10))
  expect(begun).toHaveLength(2_002)
})

it('The requests of a connection that has ended do not begin', async () => {
  const begun: string[] = []
  const { add, turns } = open('a', begun)
  add(100)
  turns.drop()
  await untilQuiet(begun)
  expect(begun).toHaveLength(8)
})
