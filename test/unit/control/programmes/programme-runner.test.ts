/** Programmes whose process dies after the effect of a step and before its commit. */

import { afterAll, expect, it, onTestFinished } from 'vitest'
import { createApiPolicies } from '../../../../src/control/publishing/api-policy.ts'
import { PROGRAMME_KIND } from '../../../../src/control/programmes/programme-document.ts'
import { createProgrammeRunner } from '../../../../src/control/programmes/programme-runner.ts'
import { createProgrammes } from '../../../../src/control/programmes/programmes.ts'
import { createProgrammeSteps, type ProgrammeStepWork } from '../../../../src/control/programmes/programme-steps.ts'
import { createTenantPolicies } from '../../../../src/control/programmes/tenant-policy.ts'
import { createKeyedMutex } from '../../../../src/control/command/keyed-mutex.ts'
import { createLinter } from '../../../../src/documents/governance/lint/linter.ts'
import { systemClock, type Clock } from '../../../../src/foundation/runtime/clock.ts'
import type { Author } from '../../../../src/storage/store/registry.ts'
import { StoreUnwritable } from '../../../../src/storage/store/unwritable.ts'
import { createFakeClock, settled } from '../../../fixtures/fake-clock.ts'
import { documents } from '../../../fixtures/documents.ts'
import { base64, declaration, openTestCatalogue, orders, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'

const linter = createLinter({ clock: systemClock, log: { error: () => {} } })
afterAll(() => linter.close())

function open(
  catalogue: TestCatalogue,
  live: (works: readonly ProgrammeStepWork[]) => readonly ProgrammeStepWork[],
  clock: Clock = systemClock,
) {
  const { registry, createId, vault, proxies, specifications, subscriptions } = catalogue
  const shared = {
    registry,
    documents,
    rulesetOf: async () => undefined,
    createId,
    vault,
    clock,
    mutex: createKeyedMutex(),
  }
  const policies = createTenantPolicies({ registry })
  const apiPolicies = createApiPolicies({ ...shared, proxies })
  const steps = createProgrammeSteps({
    ...shared,
    compliance: { lint: (_tenant, specification) => linter.lint(specification) },
    policies,
    apiPolicies,
    proxies,
    specifications,
    subscriptions,
  })
  const runner = createProgrammeRunner({ ...shared, steps: live(steps), log: { error: () => {} } })
  // Not awaited, because the step of a dead process never resolves.
  onTestFinished(() => void runner.stop())
  return { ...createProgrammes({ ...shared, backendRule: { refuse: async () => null } }), runner }
}

async function begin(catalogue: TestCatalogue, programmes: ReturnType<typeof open>) {
  const { id: consumer } = await catalogue.consumers.create(
    { tenant: 'acme', consumer: 'system' },
    { name: 'CI', kind: 'application' },
  )
  const author: Author = { tenant: 'acme', consumer }
  const openSla = base64(declaration({ variant: 'gold', perMinute: 5 }))
  const policies = createTenantPolicies({ registry: catalogue.registry })
  await policies.put(author, {
    approval: { minScore: 0, allowErrors: true, allowBreaking: false, exposures: ['Internal'] },
  })
  return programmes.create(author, { name: 'Orders', specification: base64(orders()), openSla })
}

/** The final state, and the number of effects on the way. */
async function outcomeOf(catalogue: TestCatalogue, { get, progress }: ReturnType<typeof open>, id: string) {
  while ((await progress('acme', id)).status === 'running') await new Promise((resolve) => setImmediate(resolve))
  const { status, subscription } = await get('acme', id)
  const { items } = await catalogue.subscriptions.list('acme', { limit: 50 })
  const [proxy] = (await catalogue.proxies.list('acme', { limit: 50 })).items
  const slas = await catalogue.specifications.openSlas('acme', { limit: 50 })
  return {
    status,
    subscriptions: items.length,
    isLinked: items[0]?.id === subscription,
    active: proxy?.activeRevision,
    staging: proxy?.stagingRevision,
    declarations: slas.items.length,
    activations: catalogue.gateway.calls.filter((call) => call.startsWith('swap')).length,
  }
}

const ONCE = {
  status: 'succeeded',
  subscriptions: 1,
  isLinked: true,
  active: 1,
  staging: null,
  declarations: 1,
  activations: 1,
}

it('runs each step once', async () => {
  const catalogue = openTestCatalogue()
  const programmes = open(catalogue, (steps) => steps)
  await programmes.runner.start()
  const { id } = await begin(catalogue, programmes)

  expect(await outcomeOf(catalogue, programmes, id)).toEqual(ONCE)
})

it('stages, declares, subscribes and activates nothing twice if the process dies after every step', async () => {
  const catalogue = openTestCatalogue()
  // Every step runs twice, as after a crash before its commit.
  const programmes = open(catalogue, (steps) =>
    steps.map((work) => async (programme) => {
      await work(programme)
      return work(programme)
    }),
  )
  await programmes.runner.start()
  const { id } = await begin(catalogue, programmes)

  expect(await outcomeOf(catalogue, programmes, id)).toEqual(ONCE)
})

it.each([1, 2, 3, 4, 5, 6, 7, 8])('resumes at step %i after a crash', async (number) => {
  const catalogue = openTestCatalogue()
  const { promise: died, resolve: die } = Promise.withResolvers<void>()
  const dying = open(catalogue, (steps) =>
    steps.map((work, index) => async (programme) => {
      if (index === number - 1) {
        await work(programme)
        // The process dies here.
        die()
        await new Promise(() => {})
      }
      return work(programme)
    }),
  )
  await dying.runner.start()
  const { id } = await begin(catalogue, dying)
  await died
  const next = open(catalogue, (steps) => steps)
  await next.runner.start()

  expect(await outcomeOf(catalogue, next, id)).toEqual(ONCE)
})

it('resumes without a restart when a full disk has space again', async () => {
  const catalogue = openTestCatalogue()
  const opened = open(catalogue, (works) => works)
  await opened.runner.start()
  const { commit } = catalogue.registry
  let refusals = 0
  catalogue.registry.commit = (author, action, writes) => {
    if (!action.startsWith('programme.step') || refusals > 0) return commit(author, action, writes)
    refusals++
    return Promise.reject(new StoreUnwritable('the disk is full'))
  }
  const { id } = await begin(catalogue, opened)
  const { status } = await outcomeOf(catalogue, opened, id)
  expect([refusals, status]).toEqual([1, 'succeeded'])
})

it('resumes without a restart after a failure that does not come from the disk', async () => {
  const catalogue = openTestCatalogue()
  const clock = createFakeClock(Date.now())
  const opened = open(catalogue, (works) => works, clock)
  await opened.runner.start()
  const { get } = catalogue.registry
  let failures = 0
  catalogue.registry.get = async (kind, id) => {
    if ((kind as string) === PROGRAMME_KIND && failures++ === 0) throw new Error('the connection is broken')
    return get(kind, id)
  }
  const { id } = await begin(catalogue, opened)
  await settled()
  expect((await opened.progress('acme', id)).status).toBe('running')
  await clock.advance(5_000)
  expect(await outcomeOf(catalogue, opened, id)).toEqual(ONCE)
})
