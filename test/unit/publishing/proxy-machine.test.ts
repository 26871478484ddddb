import { describe, expect, it } from 'vitest'
import { proxy, type ProxyContext, type ProxyEvent } from '../../../src/publishing/proxy-machine.ts'
import { begin, step, type PersistedActor } from '../../../src/command/persisted-machine.ts'

type Verb = 'stage' | 'activate' | 'discard'

const EVENTS: Record<Verb, ProxyEvent['type']> = {
  stage: 'revision.staged',
  activate: 'revision.activated',
  discard: 'revision.discarded',
}

const fresh = (hasRevisionZero = false): PersistedActor => begin(proxy, { hasRevisionZero, atMs: 0 })

/** Tells the events one after the other, each a millisecond later, through JSON as the registry does. */
function tell(actor: PersistedActor, ...verbs: readonly Verb[]): PersistedActor {
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
    ['nothing', [], { staging: 'none', active: 'none' }, { stagingRevision: null, activeRevision: null }],
    ['a first one', ['stage'], { staging: 'staged', active: 'none' }, { stagingRevision: 1, activeRevision: null }],
    [
      'one that serves',
      ['stage', 'activate'],
      { staging: 'none', active: 'serving' },
      { stagingRevision: null, activeRevision: 1 },
    ],
    [
      'one that serves and one beside it',
      ['stage', 'activate', 'stage'],
      { staging: 'staged', active: 'serving' },
      { stagingRevision: 2, activeRevision: 1 },
    ],
  ])('know the state of %s', (_, verbs, value, context) => {
    const actor = tell(fresh(), ...verbs)
    expect(actor.value).toEqual(value)
    expect(actor.context).toMatchObject(context)
  })

  it.each<[string, readonly Verb[], readonly Verb[]]>([
    ['no revision', [], ['activate', 'discard']],
    ['only one that serves', ['stage', 'activate'], ['activate', 'discard']],
    ['only one that was discarded', ['stage', 'discard'], ['activate', 'discard']],
  ])('refuse what needs a staging revision where there is %s, and say what is allowed', (_, verbs, refused) => {
    const actor = tell(fresh(), ...verbs)
    for (const verb of refused) {
      const result = step(proxy, actor, { type: EVENTS[verb], atMs: 9 })
      expect(result).toMatchObject({ refused: { allowed: ['revision.staged'] } })
      expect(JSON.stringify(result)).toContain('staging.none')
    }
  })

  it('number from 1, and never use a number twice', () => {
    const actor = tell(fresh(), 'stage', 'stage', 'discard', 'stage', 'activate', 'stage')
    expect(contextOf(actor)).toMatchObject({ activeRevision: 3, stagingRevision: 4, nextRevision: 5 })
  })

  it('keep the fate of each, and when it came', () => {
    const verbs = ['stage', 'stage', 'activate', 'stage', 'discard', 'stage', 'activate', 'stage'] as const
    const actor = tell(fresh(), ...verbs)

    expect(fatesOf(actor)).toEqual(['1 replaced', '2 superseded', '3 discarded', '4 active', '5 staging'])
    expect(contextOf(actor).revisions.map(({ atMs }) => atMs)).toEqual([2, 7, 5, 7, 8])
  })

  it('leave what serves undisturbed by staging and by discarding', () => {
    const actor = tell(fresh(), 'stage', 'activate', 'stage', 'discard')
    expect(contextOf(actor)).toMatchObject({ activeRevision: 1, stagingRevision: null })
  })

  it('keep the last 10 that have served', () => {
    const verbs = Array.from({ length: 13 }, () => ['stage', 'activate'] as const).flat()
    const actor = tell(fresh(), ...verbs)

    expect(fatesOf(actor)).toEqual([
      ...Array.from({ length: 10 }, (_, index) => `${index + 3} superseded`),
      '13 active',
    ])
  })

  it('lose nothing that has served to staging, however often', () => {
    const stages = Array.from({ length: 30 }, () => 'stage' as const)
    const actor = tell(fresh(), 'stage', 'activate', 'stage', 'activate', ...stages)

    expect(fatesOf(actor).slice(0, 2)).toEqual(['1 superseded', '2 active'])
    expect(fatesOf(actor)).toHaveLength(2 + 10 + 1)
  })

  it('begin at revision 0 for a deployment that is older than revisions', () => {
    const actor = fresh(true)
    expect(actor.value).toEqual({ staging: 'none', active: 'serving' })
    expect(contextOf(actor).activeRevision).toBe(0)
    expect(fatesOf(tell(actor, 'stage', 'activate'))).toEqual(['0 superseded', '1 active'])
  })

  it('stay as they were where a step is made from them', () => {
    const actor = tell(fresh(), 'stage')
    const before = JSON.stringify(actor)
    tell(actor, 'activate')
    expect(JSON.stringify(actor)).toBe(before)
  })
})
