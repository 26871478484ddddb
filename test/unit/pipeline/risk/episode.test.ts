import { describe, expect, it } from 'vitest'
import { Episode } from '../../../../src/pipeline/risk/episode.ts'
import { DEFAULT_RISK_RULES } from '../../../../src/pipeline/risk/risk-rules.ts'
import type { RiskEvent } from '../../../../src/foundation/domain/risk.ts'
import type { SavedEpisode } from '../../../../src/storage/store/risk-checkpoint.ts'

/** A row of `checkpoint.db` as version 091145f wrote it. */
const STORED = `{
  "riskId": "rsk_01m80jzbjve2crx3867eheqpqy",
  "tenant": "default",
  "state": "open",
  "event": {
    "id": "", "riskId": "rsk_01m80jzbjve2crx3867eheqpqy", "tenant": "default", "phase": "opened",
    "type": "AuthFailure403", "category": "Security", "severity": "Warning",
    "attributedTo": { "kind": "consumer", "id": "con_01m80jz6rme2mscx32enjhxg7y", "name": "Edsger" },
    "api": "catalogue-v1", "operation": "createEntry", "count": 4, "windowSeconds": 60,
    "firstSeenMs": 1795316231762, "lastSeenMs": 1795316231765,
    "message": "Edsger called what it may not call at catalogue-v1: 4 in the last 60 s.",
    "evidence": {
      "total": 4, "statuses": { "403": 4 }, "reasons": { "operation_forbidden": 4 },
      "operations": { "createEntry": 4 }, "requestIds": ["39a1642e656aeb4600000065"]
    }
  },
  "resume": {
    "phase": "opened", "actor": { "value": "Warning" }, "window": [[1795316231, 4]],
    "toldMs": 1795316231765, "toldTotal": 4, "changedMs": 1795316231765
  }
}`

function restore() {
  const saved = JSON.parse(STORED) as SavedEpisode
  const { tenant, type, api, attributedTo } = saved.event
  const events: RiskEvent[] = []
  const episode = new Episode({
    key: { tenant, type, api, attributedTo },
    rule: DEFAULT_RISK_RULES[type],
    riskId: saved.riskId,
    newEventId: () => `evt_${events.length}`,
    onEvent: (event) => events.push(event),
    saved,
  })
  return { saved, episode, events }
}

describe('An episode that an earlier version stored', () => {
  it('is saved unchanged after a restore, except for the wording of its message', () => {
    const { saved, episode } = restore()
    const message = 'Edsger called operations without permission at catalogue-v1: 4 in the last 60 s.'
    expect(JSON.parse(JSON.stringify(episode.save()))).toEqual({ ...saved, event: { ...saved.event, message } })
  })

  it('escalates from the stored severity and count', () => {
    const { saved, episode, events } = restore()
    const timeMs = saved.event.lastSeenMs + 1
    const call = {
      timeMs,
      status: 403,
      reason: 'operation_forbidden',
      isGrave: false,
      operation: 'x',
      requestId: '',
    } as const
    for (let calls = 0; calls < 6; calls++) episode.add(call)
    episode.evaluate(timeMs)
    expect(events).toMatchObject([{ phase: 'escalated', severity: 'Critical', count: 10, evidence: { total: 10 } }])
  })

  it('clears five minutes after the stored last call', () => {
    const { saved, episode, events } = restore()
    episode.evaluate(saved.event.lastSeenMs + 300_000)
    expect(events).toMatchObject([{ phase: 'cleared', severity: 'Warning' }])
    expect(episode.isCleared).toBe(true)
  })
})
