/** The report after a machine has stopped while the service ran. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useDisk } from '../fixtures/use-disk.ts'
import { createService, type Service, TWO_THREADS } from './service.ts'

useDisk()

let service: Service
beforeAll(async () => {
  service = await createService({ args: ['--empty'], env: TWO_THREADS })
  await service.start()
})
afterAll(() => service.remove())

const mark = (): string => join(service.dataDir, 'running')
const isReported = (): boolean => service.errors().includes('the last records may not have reached the disk')

describe('a power cut', () => {
  it('is not reported after a kill, or after a clean stop and another boot', async () => {
    await service.kill()
    await service.start()
    expect(isReported()).toBe(false)
    expect(existsSync(mark())).toBe(true)

    await service.stop()
    expect(existsSync(mark())).toBe(false)
    await service.start()
    expect(isReported()).toBe(false)
  })

  it('is reported as an error in the log and as the Critical risk RecordsDamaged', async () => {
    await service.kill()
    const left = JSON.parse(readFileSync(mark(), 'utf8')) as object
    writeFileSync(mark(), JSON.stringify({ ...left, boot: 'another boot' }))
    await service.start()

    expect(isReported()).toBe(true)
    const risk = await riskWhenRaised('RecordsDamaged')
    expect(risk).toMatchObject({ category: 'Governance', severity: 'Critical' })
    expect(risk.message).toMatch(/an unknown number of records from between .* and .*\(spool\)/)
  })
})

interface Risk {
  readonly type: string
  readonly category: string
  readonly severity: string
  readonly message: string
}

async function riskWhenRaised(type: string): Promise<Risk> {
  for (let attempt = 0; attempt < 20_000; attempt++) {
    const { items } = await service.platform.get<{ items: readonly Risk[] }>('/v1/risks?limit=500')
    const risk = items.find((each) => each.type === type)
    if (risk !== undefined) return risk
  }
  throw new Error(`${type} was not raised`)
}
