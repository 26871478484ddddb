import { expect, it } from 'vitest'
import { restOfPause } from '../../../../src/foundation/runtime/rest-of-pause.ts'

it.each([
  ['lasts until its end', 5_000, 4_400, 600],
  ['is over at its end', 5_000, 5_000, 0],
  ['is over after its end', 5_000, 9_000, 0],
  ['lasts as long as it is at its beginning', 5_000, 4_000, 1_000],
  ['is over if the clock was set back since', 5_000, 3_999, 0],
])('A pause of a second %s', (_, untilMs, nowMs, restMs) => expect(restOfPause(untilMs, 1_000, nowMs)).toBe(restMs))
