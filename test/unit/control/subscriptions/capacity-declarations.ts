/** Publishes APIs with a declared capacity. */

import { onTestFinished } from 'vitest'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { ACME, base64, publishApi, openTestCatalogue, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'

export const API = 'orders-v1'

interface Declared {
  readonly variant?: string
  readonly concurrency?: number
  readonly rps?: readonly number[]
  readonly concurrent?: number
  readonly perMinute?: number
}

export async function declare(
  catalogue: TestCatalogue,
  { variant, concurrency, rps = [], concurrent, perMinute }: Declared,
) {
  const runtime = {
    name: 'promise',
    ...(concurrency && { concurrency }),
    throughput: rps.map((each) => ({ rps: each })),
  }
  const limit = {
    name: 'all',
    ...(concurrent && { concurrent }),
    ...(perMinute && { rate: { value: perMinute, duration: 'minute' } }),
  }
  const declaration = {
    opensla: '1.0.0',
    info: { version: '1.0.0', ...(variant && { variant }) },
    ...((concurrency ?? rps[0]) && { runtime: [runtime] }),
    limits: [limit],
  }
  const specification = base64(Buffer.from(JSON.stringify(declaration)))
  await catalogue.specifications.createOpenSla(ACME, { api: API, specification })
}

/** Publishes an API with declarations, and starts the waiting list. */
export async function openWaitingList(...declared: Declared[]) {
  const timers = createFakeClock(0)
  const catalogue = openTestCatalogue(timers)
  const { consumer } = await publishApi(catalogue)
  for (const each of declared) await declare(catalogue, each)
  await catalogue.waitingList.start()
  onTestFinished(() => catalogue.waitingList.stop())
  const subscribe = async (slaVariant?: string) => {
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: API, ...(slaVariant && { slaVariant }) })
    return id
  }
  const stateOf = async (id: string) => (await catalogue.subscriptions.get('acme', id)).state
  const statesOf = async (...ids: string[]) => Promise.all(ids.map(stateOf))
  return { catalogue, timers, consumer, subscribe, stateOf, statesOf }
}

export const WAITING = 'WaitlistedForCapacity'
