/** Decides on a programme that waits, with a comment. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import { useRead } from '../../api/use-read.ts'
import { ActionButton } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'

interface DecisionProps {
  readonly id: string
  readonly flowId: string
}

const words = texts.programmes
const COMMENT_MAX = 2_000

/** The programme follows by itself: the stream of its progress goes on. */
export function Decision({ id, flowId }: DecisionProps) {
  const params = { id, flowId }
  const [comment, setComment] = useState('')
  const reading = useRead('/v1/programmes/:id/approvalFlows/:flowId/approvals', { params })
  const decide = async (outcome: 'Approved' | 'Rejected'): Promise<void> => {
    const comments = comment.trim()
    const body = { outcome, ...(comments !== '' && { comments }) }
    await change('POST /v1/programmes/:id/approvalFlows/:flowId/approvals', params, body)
    notify(outcome === 'Approved' ? words.approved : words.rejected)
    reading.reload()
  }
  return (
    <section aria-label={words.decision}>
      <h2>{words.decision}</h2>
      <p>{words.waits}</p>
      {scopes.value.has('approvals:write') && (
        <>
          <TextField label={words.comment} value={comment} lengthMax={COMMENT_MAX} onChange={setComment} />
          <p class="toolbar">
            <ActionButton isMain label={words.approve} onClick={() => decide('Approved')} />
            <ActionButton label={words.reject} onClick={() => decide('Rejected')} />
          </p>
        </>
      )}
      {(reading.data?.items ?? []).map(({ approver, outcome, comments, time }) => (
        <p key={time}>
          <State of={outcome} /> <Id value={approver} /> <Time at={time} /> <bdi>{comments ?? ''}</bdi>
        </p>
      ))}
    </section>
  )
}
