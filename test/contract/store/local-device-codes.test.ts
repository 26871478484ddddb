import { createLocalDeviceCodes } from '../../../src/storage/store/local-device-codes.ts'
import { deviceCodesContract } from './device-codes.contract.ts'

deviceCodesContract('local', (codesMax) => {
  const clock = { ms: 1_800_000_000_000, nowMs: () => clock.ms }
  const codes = createLocalDeviceCodes(clock, codesMax)
  return { codes, forward: async (ms) => void (clock.ms += ms) }
})
