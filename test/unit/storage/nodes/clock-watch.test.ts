import { expect, it } from 'vitest'
import { createClockWatch } from '../../../../src/storage/nodes/clock-watch.ts'

it('reports a clock that is wrong by more than a second once, and its correction', () => {
  const lines: string[] = []
  const note = (level: string) => (fields: unknown) => void lines.push(`${level} ${JSON.stringify(fields)}`)
  const count = (reason: string): void => void lines.push(reason)
  const onOffset = createClockWatch({ log: { info: note('info'), warn: note('warn') }, count })
  for (const offsetMs of [0, 1_000, -1_000]) onOffset(offsetMs)
  expect(lines).toEqual([])
  for (const offsetMs of [-1_001, -5_000, 2_000, 900, 501]) onOffset(offsetMs)
  expect(lines.splice(0)).toEqual(['node_clock_differs', 'warn {"offsetMs":-1001}'])
  for (const offsetMs of [500, 0, 1_000]) onOffset(offsetMs)
  expect(lines.splice(0)).toEqual(['info {"offsetMs":500}'])
  onOffset(1_001)
  expect(lines).toEqual(['node_clock_differs', 'warn {"offsetMs":1001}'])
})
