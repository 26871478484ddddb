/** Stores of what strangers cause at a sign-in: in PostgreSQL if several nodes share it, else in memory. */

import type { Clock } from '../foundation/runtime/clock.ts'
import { createLocalAttempts, type AttemptStore } from '../storage/store/attempts.ts'
import type { DeviceCodeStore } from '../storage/store/device-codes.ts'
import { createLocalDeviceCodes } from '../storage/store/local-device-codes.ts'
import type { Shared } from './open-shared.ts'

export interface IdentityStores {
  /** Apart from each other, so that strangers who fill one leave the others as they are. */
  readonly attempts: Readonly<Record<'login' | 'device' | 'registration', AttemptStore>>
  readonly deviceCodes: DeviceCodeStore
}

export function createIdentityStores(
  shared: Pick<Shared, 'attempts' | 'deviceCodes'> | null,
  clock: Pick<Clock, 'nowMs'>,
): IdentityStores {
  if (shared !== null) {
    const { attempts, deviceCodes } = shared
    return { attempts: { login: attempts, device: attempts, registration: attempts }, deviceCodes }
  }
  const create = (): AttemptStore => createLocalAttempts(clock)
  const attempts = { login: create(), device: create(), registration: create() }
  return { attempts, deviceCodes: createLocalDeviceCodes(clock) }
}
