/** Scopes of the platform API that a caller holds itself, the upper bound of what it may give away; null: the service acts on its own behalf. */
export type HeldScopes = ReadonlySet<string> | null
