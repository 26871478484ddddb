/** Statements on requests that all nodes prepare something, and on their answers. */

export interface AnswerRow {
  /** Name of the node. */
  readonly name: string
  /** Null: it has prepared, or not answered. */
  readonly reason: string | null
  /** It has not answered, and is live. */
  readonly awaited: boolean
}

export interface RequestRow {
  readonly id: string
  readonly body: string
}

/** A node has asked. */
export const ASKED_CHANNEL = 'tollgate_prepare'
/** A node has answered. */
export const ANSWERED_CHANNEL = 'tollgate_prepared'

/** A node at position 0 is still starting, and answers nothing. */
const IS_LIVE = (milliseconds: string): string =>
  `(n.position > 0 AND clock_timestamp() - n.heard_at < ${milliseconds} * interval '1 millisecond')`

/** No row is made if no other node is live. */
export const ASK = `WITH expired AS (
    DELETE FROM prepare_request WHERE asked_at < clock_timestamp() - interval '1 minute'
  ), asked AS (
    INSERT INTO prepare_request (id, asked_by, body, asked_at)
    SELECT $1, $2, $3, clock_timestamp()
    WHERE EXISTS (SELECT FROM node n WHERE n.incarnation <> $2 AND ${IS_LIVE('$4')})
    RETURNING 1
  )
  SELECT pg_notify('${ASKED_CHANNEL}', '') FROM asked`
export const ANSWERS = `SELECT n.name, a.reason, a.request IS NULL AND ${IS_LIVE('$3')} AS awaited
  FROM node n LEFT JOIN prepare_answer a ON a.request = $1 AND a.incarnation = n.incarnation
  WHERE n.incarnation <> $2 ORDER BY n.name`
export const END = 'DELETE FROM prepare_request WHERE id = $1'
/** Requests that a node has not answered. */
const OPEN = `FROM prepare_request r WHERE r.asked_by <> $1 AND r.asked_at > clock_timestamp() - interval '30 seconds'
    AND NOT EXISTS (SELECT FROM prepare_answer a WHERE a.request = r.id AND a.incarnation = $1)`
export const IS_ASKED = `EXISTS (SELECT ${OPEN})`
/** Without those that the node prepares already, since each body describes an API. */
export const REQUESTS = `SELECT r.id, r.body ${OPEN} AND r.id <> ALL($2::uuid[]) ORDER BY r.asked_at LIMIT 100`
/** The request may have ended. */
export const ANSWER = `WITH answered AS (
    INSERT INTO prepare_answer (request, incarnation, reason)
    SELECT id, $2, $3 FROM prepare_request WHERE id = $1 FOR KEY SHARE
    ON CONFLICT DO NOTHING RETURNING 1
  )
  SELECT pg_notify('${ANSWERED_CHANNEL}', '') FROM answered`
