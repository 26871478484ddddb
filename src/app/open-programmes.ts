/** Composes programmes: commands, the eight steps, and the runner that executes them. */

import type { ApiPolicies } from '../control/publishing/api-policy.ts'
import type { BackendRule } from '../control/publishing/backend-address.ts'
import type { RulesetOf } from '../control/publishing/published-contract.ts'
import type { Compliance } from '../control/programmes/compliance.ts'
import { createProgrammes, type Programmes } from '../control/programmes/programmes.ts'
import { createProgrammeRunner, type ProgrammeRunner } from '../control/programmes/programme-runner.ts'
import { createProgrammeSteps, type ProgrammeStepsOptions } from '../control/programmes/programme-steps.ts'
import { createRulesets, type Rulesets } from '../control/programmes/rulesets.ts'
import { createTenantPolicies, type TenantPolicies } from '../control/programmes/tenant-policy.ts'
import type { DocumentReader } from '../control/publishing/document-reader.ts'
import type { KeyedMutex } from '../control/command/keyed-mutex.ts'
import type { Log } from '../foundation/runtime/log.ts'
import type { Vault } from '../foundation/runtime/vault.ts'

export interface ProgrammeServices {
  readonly programmes: Programmes
  readonly policies: TenantPolicies
  readonly createRunner: () => ProgrammeRunner
  readonly rulesets: Rulesets
}

export interface ProgrammeServicesOptions extends Omit<
  ProgrammeStepsOptions,
  'policies' | 'compliance' | 'apiPolicies'
> {
  readonly vault: Pick<Vault, 'encrypt' | 'decrypt'>
  readonly backendRule: Pick<BackendRule, 'refuse'>
  readonly documents: DocumentReader
  readonly rulesetOf: RulesetOf
  readonly compliance: Pick<Compliance, 'lint' | 'checkRuleset'>
  readonly apiPolicies: Pick<ApiPolicies, 'get'>
  readonly log: Log
  readonly createMutex: () => KeyedMutex
}

export function openProgrammes(options: ProgrammeServicesOptions): ProgrammeServices {
  const { registry, createMutex } = options
  const policies = createTenantPolicies({ registry })
  const steps = createProgrammeSteps({ ...options, policies })
  // A separate mutex, because the steps of a programme lock the API in the mutex of all commands.
  const mutex = createMutex()
  return {
    policies,
    rulesets: createRulesets(options),
    programmes: createProgrammes({ ...options, mutex }),
    createRunner: () => createProgrammeRunner({ ...options, steps, mutex }),
  }
}
