/** The decisions on a request, with their comments. */

import type { Item } from '../../api/operations.ts'
import { Id, State, Time } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'

const words = texts.approvals

export function Comments({ of }: { readonly of: Item<'/v1/approvals'>['approvals'] }) {
  if (of.length === 0) return <span class="quiet">{words.noComments}</span>
  return (
    <ul class="comments">
      {of.map(({ approver, outcome, comments, time }) => (
        <li key={`${time} ${approver}`}>
          <State of={words.outcomes[outcome]} /> <Id value={approver} /> <Time at={time} />{' '}
          {comments !== null && <bdi>{comments}</bdi>}
        </li>
      ))}
    </ul>
  )
}
