/** What the journeys of the console have in common: a service with one published API, its backend, and a browser. */

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { createVisits, workerBrowser, type Visits } from './console-visit.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, publish, type Service } from './service.ts'

export interface Stage {
  readonly service: Service
  /** Of `ledger-v1`. */
  readonly backend: LedgerBackend
  readonly browser: Browser
}

export interface StageOptions {
  /** Settings of the service. */
  readonly env?: Readonly<Record<string, string>>
  readonly document?: object
}

const LIMIT_MS = 120_000

/** Starts the stage before the tests of a file, and ends it after them. `prepare` is called when `ledger-v1` serves. */
export function useConsole(
  { env = {}, document = ledgerDocument() }: StageOptions,
  prepare: (stage: Stage) => Promise<void> | void,
): Visits {
  const stage: { -readonly [Name in keyof Stage]?: Stage[Name] } = {}
  const opened = (): Stage => {
    const { service, backend, browser } = stage
    if (!service || !backend || !browser) throw new Error('the stage opens before the first test')
    return { service, backend, browser }
  }

  beforeAll(async () => {
    stage.backend = await startLedgerBackend()
    stage.browser = await workerBrowser()
    // Last: its ports are free, but not taken before it starts.
    stage.service = await createService({ args: ['--empty'], env })
    await stage.service.start()
    await publish(stage.service, 'ledger-v1', document, stage.backend.url)
    await prepare(opened())
  }, LIMIT_MS)

  afterAll(async () => {
    await Promise.all([stage.service?.remove(), stage.backend?.close()])
  })

  return createVisits(opened)
}
