import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { HpackDecoder } from '../../../../../src/gateway/connection/http2/hpack-decoder.ts'
import * as h2 from './frames.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function heapBytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

it('HpackDecoder keeps nothing of fields that are larger than its table', () => {
  const decoder = new HpackDecoder({ bytesMax: 16_384, fieldsMax: 1_000 })
  const added = (value: string): Buffer => Buffer.from([0x40, ...h2.block([['a', value]]).subarray(1)])
  const before = heapBytes()
  for (let round = 0; round < 250; round++) decoder.decode(added(`${round}`.padEnd(40_000, 'x')))
  expect(heapBytes() - before).toBeLessThan(2_000_000)
  expect(decoder.decode(Buffer.from([0x82]))?.received).toEqual([':method', 'GET'])
})
