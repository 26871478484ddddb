/** The reference data folders of `test/fixtures/upgrade`: what each was packed with, and what has to be found in it. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client, Filled } from './scenario.ts'
import type { State } from './state.ts'

export interface Fixture extends Filled {
  /** The commit whose code wrote the folder. */
  readonly commit: string
  /** Range of the line items and summaries. */
  readonly from: string
  readonly to: string
  readonly packedAt: string
  readonly admin: Client
  readonly state: State
  readonly otherState: State
}

/** The public address of the gateway, which is the issuer of every token: the same whatever port is free. */
export const PUBLIC_GATEWAY_URL = 'http://gateway.example'

const FOLDER = join(import.meta.dirname, '../fixtures/upgrade')

export function readFixtures(): readonly { readonly fixture: Fixture; readonly archive: string }[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .map((name) => ({
      fixture: JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as Fixture,
      archive: join(FOLDER, name.replace(/\.json$/, '.tar.zst')),
    }))
}
