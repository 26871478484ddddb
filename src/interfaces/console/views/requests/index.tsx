/** Single calls, and the reason why calls are refused: by the id of a call, by a token, or by the start of an API key. */

import { segment } from '../../router.ts'
import { CallView } from './call-view.tsx'
import { ExplainView } from './explain-view.tsx'
import { RequestList } from './request-list.tsx'
import '../consumers/consumers.css'

export function Requests() {
  const asked = segment(1)
  if (asked === '') return <RequestList />
  return asked === 'explain' ? <ExplainView /> : <CallView key={asked} id={asked} />
}
