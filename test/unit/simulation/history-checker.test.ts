import { expect, it } from 'vitest'
import {
  checkActivations,
  checkConcurrent,
  checkRate,
  checkRevoked,
  checkTotal,
  type HistoryCall,
} from '../../simulation/history-checker.ts'

const MINUTE = 60_000

function admitted(sentMs: number, arrivedMs = sentMs, leftMs = arrivedMs, answer = 'one'): HistoryCall {
  return { caller: 'ada', node: 'a', sentMs, arrivedMs, leftMs, status: 200, answer }
}

const refused: HistoryCall = { ...admitted(1), arrivedMs: null, leftMs: null, status: 429, answer: null }
const always = (value: number) => [{ value, askedMs: 0, answeredMs: 0 }]

it('finds one call too many in a window, and only calls that are surely in it', () => {
  const three = [admitted(1), admitted(2), admitted(3), refused]
  expect(checkTotal(three, always(3), MINUTE)).toEqual([])
  expect(checkTotal(three, always(2), MINUTE)).toEqual(['3 of 2 calls in the window at 0'])
  expect(checkTotal([...three, admitted(59_999, 60_001)], always(3), MINUTE)).toEqual([])
  expect(checkTotal([admitted(60_000), admitted(59_999)], always(1), MINUTE)).toEqual([])
})

it('holds a lowered total from the answer of its command on', () => {
  const lowered = [...always(10), { value: 2, askedMs: 5, answeredMs: 10 }]
  const before = [admitted(1), admitted(2), admitted(3)]
  expect(checkTotal(before, lowered, MINUTE)).toEqual([])
  expect(checkTotal([...before, admitted(9)], lowered, MINUTE)).toEqual([])
  expect(checkTotal([...before, admitted(11)], lowered, MINUTE)).toEqual(['4 of 3 calls in the window at 0'])
  expect(checkTotal([admitted(11), admitted(12)], lowered, MINUTE)).toEqual([])
  const pending = [...always(10), { value: 2, askedMs: 5, answeredMs: null }]
  expect(checkTotal([...before, admitted(11)], pending, MINUTE)).toEqual([])
  const raised = [...lowered, { value: 4, askedMs: 20, answeredMs: 25 }]
  expect(checkTotal([...before, admitted(22)], raised, MINUTE)).toEqual([])
})

it('holds the new total in a window that begins after the answer', () => {
  const lowered = [...always(10), { value: 2, askedMs: 5, answeredMs: 10 }]
  const later = [1, 2, 3].map((ms) => admitted(MINUTE + ms))
  expect(checkTotal(later, lowered, MINUTE)).toEqual(['3 of 2 calls in the window at 60000'])
})

it('finds a burst that a rate does not admit, in any interval', () => {
  const atOnce = [0, 0, 0].map(() => admitted(1_000))
  expect(checkRate(atOnce, 3, 3_000)).toEqual([])
  expect(checkRate([...atOnce, admitted(1_500)], 3, 3_000)).toEqual(['4 of 3 calls from 1000 to 1500'])
  expect(checkRate([...atOnce, admitted(2_000)], 3, 3_000)).toEqual([])
  const slow = [0, 0, 0].map(() => admitted(0, 5_000))
  expect(checkRate([...slow, ...atOnce], 3, 3_000)).toEqual([])
})

it('finds a call too many at the backend', () => {
  const calls = [admitted(1, 1, 10), admitted(2, 2, 20), admitted(10, 10, 20)]
  expect(checkConcurrent(calls, 2)).toEqual([])
  expect(checkConcurrent([...calls, admitted(11, 11, 12)], 2)).toEqual(['3 of 2 calls at once at 11'])
})

it('finds a revoked caller that was served', () => {
  expect(checkRevoked([admitted(5, 12), refused], 10)).toEqual([])
  expect(checkRevoked([admitted(11)], 10)).toEqual(['a revoked caller was served at a, 11'])
})

it('finds the answer of a revision that was replaced before the call was sent', () => {
  const activations = [
    { answer: 'one', answeredMs: 0 },
    { answer: 'two', answeredMs: 10 },
  ]
  expect(checkActivations([admitted(9), admitted(5, 6, 7, 'two')], activations)).toEqual([])
  expect(checkActivations([admitted(11)], activations)).toEqual(['a served one at 11, after two'])
  const pending = [activations[0]!, { answer: 'two', answeredMs: null }]
  expect(checkActivations([admitted(11)], pending)).toEqual([])
})
