"""From a request to the memories it needs: imagine, probe, pool, order, put into context, answer."""
