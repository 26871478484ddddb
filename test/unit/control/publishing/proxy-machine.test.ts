import { describe, expect, it } from 'vitest'
import { proxy, type ProxyContext, type ProxyEvent } from '../../../../src/control/publishing/proxy-machine.ts'
import { begin, step, type PersistedActor } from '../../../../src/control/command/persisted-machine.ts'
import type { CanaryRule } from '../../../../src/boundary/plan/canary.ts'

type Verb = 'stage' | 'activate' | 'discard'

const EVENTS: Record<Verb, Exclude<ProxyEvent['type'], 'canary.set'>> = {
  stage: 'revision.staged',
  activate: 'revision.activated',
  discard: 'revision.discarded',
}

const fresh = (hasRevisionZero = false): PersistedActor => begin(proxy, { hasRevisionZero, atMs: 0 })

/** Sends the events, each a millisecond later, and stores every snapshot as JSON like the registry. */
function send(actor: PersistedActor, ...verbs: readonly Verb[]): PersistedActor {
  return verbs.reduce((from, verb, index) => {
    const result = step(proxy, JSON.parse(JSON.stringify(from)), { type: EVENTS[verb], atMs: index + 1 })
    if ('refused' in result) throw new Error(`${verb} was refused in ${result.refused.state}`)
    return result.next
  }, actor)
}

const contextOf = (actor: PersistedActor): ProxyContext => actor.context as ProxyContext
const fatesOf = (actor: PersistedActor): string[] =>
  contextOf(actor).revisions.map(({ revision, fate }) => `${revision} ${fate}`)

describe('the revisions of a proxy', () => {
  it.each<[string, readonly Verb[], unknown, Partial<ProxyContext>]>([
    ['no revision', [], { staging: 'none', active: 'none' }, { stagingRevision: null, activeRevision: null }],
    [
      'one staged revision',
      ['stage'],
      { staging: 'staged', active: 'none' },
      { stagingRevision: 1, activeRevision: null },
    ],
    [
      'one active revision',
      ['stage', 'activate'],
      { staging: 'none', active: 'serving' },
      { stagingRevision: null, activeRevision: 1 },
    ],
    [
      'an active and a staged revision',
      ['stage', 'activate', 'stage'],
      { staging: 'staged', active: 'serving' },
      { stagingRevision: 2, activeRevision: 1 },
    ],
  ])('have the state of %s', (_, verbs, value, context) => {
    const actor = send(fresh(), ...verbs)
    expect(actor.value).toEqual(value)
    expect(actor.context).toMatchObject(context)
  })

  it.each<[string, readonly Verb[], readonly Verb[]]>([
    ['no revision', [], ['activate', 'discard']],
    ['only an active one', ['stage', 'activate'], ['activate', 'discard']],
    ['only a discarded one', ['stage', 'discard'], ['activate', 'discard']],
  ])('refuse events that need a staging revision if there is %s, and list the allowed events', (_, verbs, refused) => {
    const actor = send(fresh(), ...verbs)
    for (const verb of refused) {
      const result = step(proxy, actor, { type: EVENTS[verb], atMs: 9 })
      expect(result).toMatchObject({ refused: { allowed: ['revision.staged'] } })
      expect(JSON.stringify(result)).toContain('staging.none')
    }
  })

  it('are numbered from 1, without reusing a number', () => {
    const actor = send(fresh(), 'stage', 'stage', 'discard', 'stage', 'activate', 'stage')
    expect(contextOf(actor)).toMatchObject({ activeRevision: 3, stagingRevision: 4, nextRevision: 5 })
  })

  it('record the fate of each revision, with its time', () => {
    const verbs = ['stage', 'stage', 'activate', 'stage', 'discard', 'stage', 'activate', 'stage'] as const
    const actor = send(fresh(), ...verbs)

    expect(fatesOf(actor)).toEqual(['1 replaced', '2 superseded', '3 discarded', '4 active', '5 staging'])
    expect(contextOf(actor).revisions.map(({ atMs }) => atMs)).toEqual([2, 7, 5, 7, 8])
  })

  it('do not change the active revision by staging or discarding', () => {
    const actor = send(fresh(), 'stage', 'activate', 'stage', 'discard')
    expect(contextOf(actor)).toMatchObject({ activeRevision: 1, stagingRevision: null })
  })

  it('retain the last 10 that were active', () => {
    const verbs = Array.from({ length: 13 }, () => ['stage', 'activate'] as const).flat()
    const actor = send(fresh(), ...verbs)

    expect(fatesOf(actor)).toEqual([
      ...Array.from({ length: 10 }, (_, index) => `${index + 3} superseded`),
      '13 active',
    ])
  })

  it('retain all that were active, however often a revision is staged', () => {
    const stages = Array.from({ length: 30 }, () => 'stage' as const)
    const actor = send(fresh(), 'stage', 'activate', 'stage', 'activate', ...stages)

    expect(fatesOf(actor).slice(0, 2)).toEqual(['1 superseded', '2 active'])
    expect(fatesOf(actor)).toHaveLength(2 + 10 + 1)
  })

  it('start with revision 0 for a deployment from before revisions existed', () => {
    const actor = fresh(true)
    expect(actor.value).toEqual({ staging: 'none', active: 'serving' })
    expect(contextOf(actor).activeRevision).toBe(0)
    expect(fatesOf(send(actor, 'stage', 'activate'))).toEqual(['0 superseded', '1 active'])
  })

  it('are not modified by a transition, which returns a new snapshot', () => {
    const actor = send(fresh(), 'stage')
    const before = JSON.stringify(actor)
    send(actor, 'activate')
    expect(JSON.stringify(actor)).toBe(before)
  })
})

describe('the canary of a proxy', () => {
  const set = (actor: PersistedActor, rule: CanaryRule, atMs: number) =>
    step(proxy, JSON.parse(JSON.stringify(actor)), { type: 'canary.set', rule, atMs })
  const started = (): PersistedActor => {
    const result = set(send(fresh(), 'stage', 'activate', 'stage'), { percent: 10 }, 20)
    if ('refused' in result) throw new Error(result.refused.state)
    return result.next
  }

  it('is the staging revision, which no other one can replace', () => {
    const actor = started()
    expect(actor.value).toEqual({ staging: 'canary', active: 'serving' })
    expect(contextOf(actor)).toMatchObject({
      activeRevision: 1,
      stagingRevision: 2,
      canary: { rule: { percent: 10 }, sinceMs: 20 },
    })
    expect(fatesOf(actor)).toEqual(['1 active', '2 canary'])
    expect(step(proxy, actor, { type: 'revision.staged', atMs: 21 })).toMatchObject({
      refused: { allowed: ['canary.set', 'revision.activated', 'revision.discarded'] },
    })
  })

  it('keeps its beginning when its callers change', () => {
    const result = set(started(), { consumers: ['con_1'] }, 30)
    if ('refused' in result) throw new Error(result.refused.state)
    expect(contextOf(result.next).canary).toEqual({ rule: { consumers: ['con_1'] }, sinceMs: 20 })
    expect(fatesOf(result.next)).toEqual(['1 active', '2 canary'])
  })

  it.each<[Verb, string[], number]>([
    ['activate', ['1 superseded', '2 active'], 2],
    ['discard', ['1 active', '2 discarded'], 1],
  ])('ends when its revision is told to %s', (verb, fates, activeRevision) => {
    const actor = send(started(), verb)
    expect(actor.value).toEqual({ staging: 'none', active: 'serving' })
    expect(contextOf(actor)).toMatchObject({ activeRevision, stagingRevision: null, canary: null })
    expect(fatesOf(actor)).toEqual(fates)
    expect(contextOf(send(actor, 'stage'))).toMatchObject({ stagingRevision: 3, canary: null })
  })

  it.each<[string, readonly Verb[]]>([
    ['no active revision', ['stage']],
    ['no staging revision', ['stage', 'activate']],
  ])('is refused if there is %s', (_, verbs) => {
    expect(set(send(fresh(), ...verbs), { percent: 10 }, 9)).toHaveProperty('refused')
  })
})
